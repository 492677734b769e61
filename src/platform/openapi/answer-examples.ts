import type { JsonSchema } from './components.js';

/** What stands in the examples of answers, by the names of members, where their schemas alone say too little. */
const WORDS: Readonly<Record<string, unknown>> = {
  activity: 'in-turn',
  actor: 'mayor',
  agent: 'mayor',
  alias: 'login',
  assignee: 'mayor',
  bead_id: 'al-1',
  city: 'alpha',
  code: 'conflict-wrong-state',
  command: 'claude',
  commit: '3f786850e387550fdab836ed7e6dc881de23001b',
  compiler: '2',
  convoy_id: 'al-7',
  cost_usd_estimate: 0.42,
  cursor: 'eyJ2IjoxfQ',
  default_branch: 'main',
  depends_on_id: 'al-2',
  detail: 'everything is well',
  dir: 'alpha',
  display_name: 'Loopback',
  error_code: 'conflict-wrong-state',
  event_cursor: '__supervisor__:6,alpha:3',
  fence: 1,
  formula: 'release',
  from: 'mayor',
  hash: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  host: 'worker-1',
  issue_id: 'al-1',
  issue_type: 'task',
  key: 'svc_0123456789ab_the_rest_is_secret',
  lease: '10m0s',
  name: 'alpha',
  next_cursor: 'eyJ2IjoxfQ',
  path: '/srv/cities/alpha',
  prefix: 'al',
  provider: 'loopback',
  qualified_name: 'mayor',
  request_id: 'req-ae771114c827963fbec716d0',
  reason: 'on-demand',
  revision: 3,
  rig: 'web',
  role: 'assistant',
  root_bead_id: 'al-9',
  run_id: 'al-9',
  scope_kind: 'city',
  scope_ref: 'alpha',
  session: 'al-4',
  session_id: 'al-4',
  session_name: 'mayor',
  state: 'active',
  stream: 'alpha',
  status: 'ok',
  subject: 'The plan',
  target: 'mayor',
  template: 'mayor',
  text: 'The parser is done.',
  title: 'The parser',
  to: 'human',
  type: 'blocks',
  url: 'https://example.org/',
  version: '0.2.0',
  workflow_id: 'al-9',
};
/** Where a component means something else by a name. */
const OF: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  AsyncAcceptedBody: { status: 'accepted', event_cursor: '3' },
  Bead: { status: 'open', from: 'human', labels: ['first'], priority: 1, id: 'al-1', description: 'Numbers and strings, with positions.' },
  CityInfo: { status: 'running' },
  EventEmitOutputBody: { status: 'recorded', seq: 42 },
  Message: { id: 'al-3', thread_id: 'al-3', body: 'The parser is done. What is next?' },
  RigResponse: { name: 'web', path: '/srv/cities/alpha/rigs/web' },
  SessionResponse: { id: 'al-4', display_name: 'Loopback', title: 'Hello' },
  SupervisorHealthOutputBody: { status: 'ok', cities_total: 1, cities_running: 1 },
};
const TIME = '2026-11-21T09:16:54.137060Z';
const DEEP = 6;

/** Members that are shown although they may be left out: without them an example says little. */
const SHOWN: ReadonlySet<string> = new Set([
  'seq',
  'labels',
  'priority',
  'description',
  'thread_id',
  'pagination',
  'claim',
  'code',
  'detail',
]);

/** An answer as it may look: every member that must be there, and those of the rest that tell most. */
export function sample(schema: JsonSchema, schemas: Readonly<Record<string, JsonSchema>>, name = '', of = '', depth = 0): unknown {
  const { $ref: reference } = schema as { $ref?: string };
  if (reference !== undefined) {
    const component = reference.split('/').pop()!;
    const told = OF[of]?.[name] ?? undefined;
    return told ?? sample(schemas[component] ?? {}, schemas, name, component, depth + 1);
  }
  const {
    properties,
    required = [],
    items,
    enum: values,
    const: only,
    additionalProperties,
  } = schema as {
    properties?: Record<string, JsonSchema>;
    required?: readonly string[];
    items?: JsonSchema;
    enum?: readonly unknown[];
    const?: unknown;
    additionalProperties?: JsonSchema | boolean;
  };
  if (only !== undefined) return only;
  const type = [schema.type].flat()[0];
  const told = OF[of]?.[name] ?? WORDS[name];
  if (values !== undefined) return told !== undefined && values.includes(told) ? told : values[0];
  const options = (schema.oneOf ?? schema.anyOf) as JsonSchema[] | undefined;
  if (options !== undefined) {
    const first = options.find((option) => option.type !== 'null');
    return depth > DEEP && first !== options.at(-1) && options.at(-1)!.type === 'null'
      ? null
      : sample(first ?? {}, schemas, name, of, depth);
  }
  switch (type) {
    case 'object': {
      if (properties === undefined) return typeof additionalProperties === 'object' && depth < 2 ? entry(additionalProperties) : {};
      const shown = Object.keys(properties).filter(
        (key) => required.includes(key) || (depth < DEEP && (SHOWN.has(key) || OF[of]?.[key] !== undefined)),
      );
      return Object.fromEntries(shown.map((key) => [key, sample(properties[key]!, schemas, key, of, depth + 1)]));
    }
    case 'array':
      if (Array.isArray(told)) return told;
      return depth > DEEP && schema.minItems === undefined ? [] : [sample(items ?? {}, schemas, name, of, depth + 1)];
    case 'integer':
    case 'number':
      return typeof told === 'number' ? told : Math.max(1, Number(schema.minimum ?? 1));
    case 'boolean':
      return /^(running|claimed|available|ready|changed|complete|supported|valid|enabled|ok|accepted)$/.test(name);
    case 'string':
      return word(schema, name, told);
    default:
      return told ?? 'anything';
  }
  function entry(value: JsonSchema): Record<string, unknown> {
    const key = name === 'providers' || name === 'items' ? 'loopback' : 'key';
    return { [key]: sample(value, schemas, '', of, depth + 1) };
  }
}

function word(schema: JsonSchema, name: string, told: unknown): string {
  if (schema.format === 'date-time' || /(_at|^timestamp|^ts|^time|At|_until)$/.test(name)) return TIME;
  if (typeof told === 'string') return told;
  if (/^(id|ID)$/.test(name)) return 'al-1';
  return name === '' ? 'text' : name.replace(/_/g, ' ');
}
