/**
 * A case of the corpus: one text file with the files of a city, the packs that lie in the store, and what composing
 * them must give. Sections begin with a line `-- heading --`:
 *
 * - `-- city.toml --`: a file of the city, by its path;
 * - `-- pack:<repository>@<commit> <path> --`: a file of a fetched pack; `-- pack:builtin:<name> <path> --`: of a shipped one;
 * - `-- city --`: the name of the city's directory (`harbor` without it);
 * - `-- expect --`: lines `path = JSON` or `path = absent` about the result (`expectations.ts` has the paths);
 * - `-- origins --`: lines `path = <file> <key>`;
 * - `-- issues --`: every issue, as `error <line>` or `warning <line>`.
 *
 * What stands before the first section says what the case is about. Lines beginning with `#` in the last three are comments.
 */
export interface Case {
  readonly about: string;
  readonly cityName: string;
  readonly files: Readonly<Record<string, string>>;
  readonly packs: readonly CasePack[];
  readonly expect: readonly string[];
  readonly origins: readonly string[];
  readonly issues: readonly string[];
}

/** A pack as the store holds it. */
export interface CasePack {
  readonly repository: string;
  readonly commit: string | undefined;
  readonly files: Readonly<Record<string, string>>;
}

const HEADING = /^-- (.+) --$/;
const PACK = /^pack:(\S+?)(?:@([0-9a-f]{7,40}))? (\S+)$/;
const LISTS = ['expect', 'origins', 'issues'];

/** @throws Error for a case that cannot be meant, so that a typing error does not become a case that proves nothing. */
export function readCase(text: string): Case {
  const [about, ...sections] = split(text);
  const files: Record<string, string> = {};
  const packs = new Map<string, { repository: string; commit: string | undefined; files: Record<string, string> }>();
  const lists = new Map<string, string[]>();
  let cityName = 'harbor';
  for (const { heading, body } of sections) {
    const pack = PACK.exec(heading);
    if (pack !== null) {
      const [, repository = '', commit, path = ''] = pack;
      const id = `${repository}@${commit ?? ''}`;
      const held = packs.get(id) ?? { repository, commit, files: {} };
      packs.set(id, held);
      put(held.files, path, body);
    } else if (heading === 'city') cityName = body.trim();
    else if (LISTS.includes(heading)) {
      if (lists.has(heading)) throw new Error(`two sections ${heading}`);
      lists.set(heading, linesOf(body));
    } else put(files, heading, body);
  }
  const [expect = [], origins = [], issues = []] = LISTS.map((list) => lists.get(list));
  if (lists.size === 0) throw new Error('nothing is expected');
  return { about: about!.body.trim(), cityName, files, packs: [...packs.values()], expect, origins, issues };
}

function put(files: Record<string, string>, path: string, body: string): void {
  if (path in files) throw new Error(`two sections ${path}`);
  files[path] = body;
}

function split(text: string): { heading: string; body: string }[] {
  const sections: { heading: string; lines: string[] }[] = [{ heading: '', lines: [] }];
  for (const line of text.split('\n')) {
    const heading = HEADING.exec(line)?.[1];
    if (heading === undefined) sections.at(-1)!.lines.push(line);
    else sections.push({ heading, lines: [] });
  }
  return sections.map(({ heading, lines }) => ({ heading, body: `${lines.join('\n').trimEnd()}\n` }));
}

function linesOf(body: string): string[] {
  return body.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('#'));
}
