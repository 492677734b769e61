import type { DocumentedOperation, OpenApi } from './contract.js';

/** Where requests take ids, read from the document: a place that nobody has classified is an error of the test that asks. */
export type Kind =
  | 'city'
  | 'bead'
  | 'convoy'
  | 'message'
  | 'wait'
  | 'run'
  | 'firing'
  | 'batch'
  | 'session'
  | 'queued'
  | 'subAgent'
  | 'name'
  | 'directory'
  | 'key'
  | 'group'
  | 'delivery'
  | 'publication'
  | 'revision'
  | Position;
/** Of a log, of all logs, of a list, of a transcript; what a version of a thing is called; what has been asked before. */
type Position = 'head' | 'cursor' | 'token' | 'entry' | 'etag' | 'answer' | 'match';

export interface Place {
  readonly in: 'path' | 'query' | 'body' | 'header';
  /** Of a member of a body: `a.b[]`. */
  readonly name: string;
  readonly kind: Kind;
}

const words = (text: string): string[] => text.trim().split(/\s+/);

/** Takes text of any kind, a number in words, or a command, and never what something is called. */
const PLAIN = new Set(
  words(`
  query.patch query.type query.text query.label query.metadata query.status query.state query.since query.until query.created_after
  query.bucket query.by query.q query.kinds query.sort query.view query.created_before query.updated_after query.updated_before query.wait query.format query.direction query.kind query.priority query.tail query.operation
  path.action path.label query.scope_kind header.X-SVC-Request
  body.start_command body.description body.idle_timeout body.scope body.prompt body.defer_until body.labels[] body.metadata{}
  body.remove_labels[] body.title body.type body.lease body.work_branch body.reason body.files{} body.message body.body
  body.unread_retention body.version body.env{} body.tmux_alias body.acp_args[] body.acp_command body.args[] body.args_append[]
  body.command body.prompt_flag body.prompt_mode body.default_branch body.prefix body.display_name body.option_defaults{} body.git_url
  body.permission_mode body.action body.text body.kind body.options{} body.merge body.scope_kind body.error body.expires_at body.note
  body.timeout body.payload{} query.store_ref body.network body.network[] body.vars{}
  body.callback_url body.payload body.mode body.reply_to_message_id body.idempotency_key body.attachments[].provider_id body.attachments[].url
  body.attachments[].mime_type body.message.provider_message_id body.message.actor.id body.message.actor.display_name body.message.text
  body.message.received_at body.message.reply_to_message_id body.message.attachments[].provider_id body.message.attachments[].url
  body.message.attachments[].mime_type body.message.dedup_key body.claim body.message_id`),
);

const CONVERSATION = ['scope_id', 'provider', 'account_id', 'conversation_id', 'parent_conversation_id'];

const KINDS: Readonly<Partial<Record<Kind, readonly string[]>>> = {
  city: words('path.cityName query.city query.cities body.cities[]'),
  bead: words(
    'path.dependsOnId path.rootID query.parent body.parent body.depends_on_id body.needs[] body.items[] body.bead body.beads[] body.dep_ids[] body.attached_bead_id',
  ),
  run: words('path.run_id path.workflow_id'),
  firing: words('path.bead_id'),
  batch: words('path.request_id'),
  convoy: words('body.convoy'),
  message: words('query.thread'),
  session: words('query.session query.session_id body.session body.session_id'),
  group: words('body.group_id'),
  queued: words('path.messageId'),
  subAgent: words('path.agentId'),
  revision: words('path.revision query.revision query.from query.to'),
  key: words('query.key'),
  head: words('query.after_seq query.index'),
  token: words('query.cursor'),
  entry: words('query.before query.after'),
  etag: words('header.If-Match header.If-None-Match'),
  answer: words('header.Idempotency-Key'),
  match: words('query.payload_match'),
  directory: words('body.path body.work_dir body.source'),
  name: words(`
    path.base path.dir path.name path.agent
    query.agent query.rig query.assignee query.routed_to query.pool query.providers query.items query.template query.provider query.path
    query.scoped_name query.actor query.subject query.request_id query.scope_ref query.target
    body.dir body.name body.provider body.assignee body.session_name body.rig body.notify body.owner body.target body.actor body.subject
    body.agent body.aliases[] body.cc[] body.from body.to body.to[] body.alias body.base body.project_id body.request_id body.scope_ref
    body.nudge_id body.formula body.agent_name body.account_id body.handle body.default_handle body.explicit_target body.message.explicit_target
    query.scope_id query.account_id query.conversation_id query.parent_conversation_id
    ${['body.conversation', 'body.root_conversation', 'body.message.conversation'].flatMap((at) => CONVERSATION.map((part) => `${at}.${part}`)).join(' ')}`),
};
const KIND_OF = new Map(Object.entries(KINDS).flatMap(([kind, places]) => places.map((place) => [place, kind as Kind])));

/** Names that mean one thing here and another there. */
function kindOf(operation: DocumentedOperation, place: string): Kind | undefined {
  const { path } = operation;
  const family = /\/(bead|convoy|mail|molecule|wait|session|delivery|publication)\//.exec(path)?.[1];
  if (place === 'path.id' && path.startsWith('/v0/keys/')) return 'key';
  if (place === 'path.id') return family === 'mail' ? 'message' : family === 'molecule' ? 'run' : (family as Kind | undefined);
  if (path.endsWith('/mail') && /^query\.(from|to)$/.test(place)) return 'name';
  if (place === 'header.Last-Event-ID' || place === 'query.after_cursor')
    return path.startsWith('/v0/events') ? 'cursor' : path.endsWith('/events/stream') ? 'head' : 'entry';
  return KIND_OF.get(place);
}

/**
 * Every place of an operation for something that belongs to a city.
 * @throws Error for a place that is neither in the lists above.
 */
export function placesOf(operation: DocumentedOperation, { components }: OpenApi): Place[] {
  const found = new Map<string, Place>();
  const add = (where: Place['in'], name: string): void => {
    const place = `${where}.${name}`;
    // What is a position elsewhere is a time there.
    if (PLAIN.has(place) || (place === 'query.before' && operation.path.endsWith('/orders/history'))) return;
    const kind = kindOf(operation, place);
    if (kind === undefined) throw new Error(`${operation.id} takes ${place}: say in test/support/attack-places.ts what it is`);
    found.set(place, { in: where, name, kind });
  };
  for (const { in: where, name, schema } of operation.definition.parameters ?? [])
    if (where !== 'query' || !isClosed(schema) || KIND_OF.has(`query.${name}`)) add(where, name);
  const body = operation.definition.requestBody?.content['application/json']?.schema;
  if (body !== undefined) walk(body as Schema, '', components.schemas as Readonly<Record<string, Schema>>, (name) => add('body', name));
  return [...found.values()];
}

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
}

/** Takes numbers, truths or some words only, or is made of parts that are looked at by themselves. */
function isClosed({ type, enum: among, const: one }: Schema): boolean {
  if (among !== undefined || one !== undefined) return true;
  return type !== undefined && ![type].flat().some((each) => each === 'string' || each === 'array');
}

function walk(given: Schema, path: string, schemas: Readonly<Record<string, Schema>>, add: (path: string) => void, depth = 0): void {
  const schema = given.$ref === undefined ? given : schemas[given.$ref.split('/').pop()!]!;
  if (depth > 8) return;
  const into = (part: Schema, at: string): void => walk(part, at, schemas, add, depth + 1);
  for (const part of [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])]) into(part, path);
  for (const [name, part] of Object.entries(schema.properties ?? {})) into(part, path === '' ? name : `${path}.${name}`);
  if (schema.items !== undefined) into(schema.items, `${path}[]`);
  if (typeof schema.additionalProperties === 'object') into(schema.additionalProperties, `${path}{}`);
  const parts = schema.items ?? schema.anyOf ?? schema.oneOf ?? schema.allOf;
  if (parts === undefined && path !== '' && !isClosed(schema)) add(path);
}

/** A body with a value at a place; what is on the way is made. */
export function withMember(body: object | undefined, name: string, value: string): object {
  const [head, ...rest] = name.split('.') as [string, ...string[]];
  const key = head.replace('[]', '');
  // What else a table needs stays as it is.
  const beside = (body as Record<string, unknown> | undefined)?.[key];
  const kept = typeof beside === 'object' && beside !== null && !Array.isArray(beside) ? beside : undefined;
  const inner = rest.length === 0 ? value : withMember(kept, rest.join('.'), value);
  return { ...body, [key]: head.endsWith('[]') ? [inner] : inner };
}
