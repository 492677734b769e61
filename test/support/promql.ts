/** What a query of Prometheus asks for: names of series, each with the labels that are asked of it. */
export interface Asked {
  readonly name: string;
  readonly labels: readonly string[];
}

const WORDS = new Set([
  'by',
  'without',
  'on',
  'ignoring',
  'group_left',
  'group_right',
  'and',
  'or',
  'unless',
  'bool',
  'offset',
  'inf',
  'nan',
]);
/** Put there by whoever scrapes. */
const SCRAPED = new Set(['instance', 'job', 'le']);

/** Names and labels of a query. Labels that it groups by are asked of all series in it. */
export function askedBy(query: string): Asked[] {
  const grouped: string[] = [];
  const rest = query.replaceAll(/\[[^\]]*\]/g, ' ').replaceAll(/\b(?:by|without|on|ignoring)\s*\(([^)]*)\)/g, (_all, labels: string) => {
    grouped.push(...namesIn(labels));
    return ' ';
  });
  const found: Asked[] = [];
  for (const [, name, after, selector = ''] of rest.matchAll(/([a-zA-Z_:][\w:]*)\s*(\(|\{((?:[^}"]|"(?:[^"\\]|\\.)*")*)\})?/g)) {
    if (after === '(' || WORDS.has(name!.toLowerCase())) continue;
    const own = [...selector.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"/g)].map(([, label]) => label!);
    found.push({ name: name!, labels: [...own, ...grouped].filter((label) => !SCRAPED.has(label)) });
  }
  return found;
}

const namesIn = (labels: string): string[] =>
  labels
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');

/** Series of what `/metrics` says: the labels of each name. */
export function seriesOf(text: string): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const line of text.split('\n')) {
    const [, declared, kind] = /^# TYPE (\S+) (\S+)/.exec(line) ?? [];
    if (declared !== undefined)
      for (const part of kind === 'histogram' ? ['_bucket', '_sum', '_count'] : [''])
        found.set(declared + part, found.get(declared + part) ?? new Set());
    const [, name, labels = ''] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? /.exec(line) ?? [];
    if (name === undefined) continue;
    const known = found.get(name) ?? new Set<string>();
    for (const [, label] of labels.matchAll(/(\w+)="(?:[^"\\]|\\.)*"/g)) known.add(label!);
    found.set(name, known);
  }
  return found;
}
