import type { Guard } from './guard.js';

const HOOKS = 'test/e2e/webhooks.e2e-spec.ts';
const HOSTS = 'test/e2e/orders-hosts.e2e-spec.ts';
const FIRINGS = 'src/modules/orders/firing.db-spec.ts';

/** Orders and their firings. */
export const ORDERS: readonly Guard[] = [
  {
    guard: 'An order has one firing open at a time.',
    file: 'db/migrations/0042_create_orders.ts',
    find: 'create unique index order_firings_open_idx',
    replace: 'create index order_firings_open_idx',
    test: FIRINGS,
    name: 'one firing open at a time',
  },
  {
    guard: 'A firing that was taken from a host is ended by the next one only.',
    file: 'src/modules/orders/firings.repository.ts',
    find: "sql`state <> 'done' and worker = ${worker}`",
    replace: "sql`state <> 'done'`",
    test: FIRINGS,
    name: 'goes to another host when it may be done twice',
  },
  {
    guard: 'Commands of cities are started inside the walls.',
    file: 'src/modules/launch/city-commands.ts',
    find: 'this.#carryOut({ ...spec, sandbox }, command, signal);',
    replace: 'this.#carryOut(spec, command, signal);',
    test: 'test/e2e/orders-walls.e2e-spec.ts',
  },
  {
    guard: 'Only a lease that has run out gives a firing away.',
    file: 'src/modules/orders/firings.repository.ts',
    find: "sql`state <> 'done' and worker is not null and lease_until < now()`",
    replace: "sql`state <> 'done' and worker is not null`",
    test: FIRINGS,
    name: 'is not taken from a host that has renewed its lease meanwhile',
  },
  {
    guard: 'A delivery of a webhook counts once, on all replicas.',
    file: 'src/modules/orders/webhooks/webhook-receiver.service.ts',
    find: 'if (!taken)',
    replace: "if (!taken && scopedName === '')",
    test: HOOKS,
    name: 'fire the order whose rule fits',
  },
  {
    guard: 'What is nested without end in a delivery is refused.',
    file: 'src/modules/orders/webhooks/rules.ts',
    find: 'throw new BadArgument(`the argument ${name} is nested too deeply`, { cause });',
    replace: 'throw cause;',
    test: HOOKS,
    name: 'refuse what cannot be done',
  },
  {
    guard: 'A delivery that comes again while it is fired waits in the order in which it is fired.',
    file: 'src/modules/orders/webhooks/webhook-receiver.service.ts',
    find: 'const row = await this.firings.lock(tx, streamId, scopedName);\n    const taken = await this.deliveries.take(',
    replace: 'const row = { scopedName };\n    const taken = await this.deliveries.take(',
    test: HOOKS,
    name: 'wait while their order',
  },
  {
    guard: 'Who sends to a webhook has to share its secret.',
    file: 'src/modules/orders/webhooks/verify.ts',
    find: 'good = timingSafeEqual(signature, wanted) || good',
    replace: 'good = timingSafeEqual(signature, wanted) || signature.length > 0',
    test: HOOKS,
    name: 'know their senders',
  },
  {
    guard: 'Refusals of webhooks fill no log.',
    file: 'src/modules/orders/webhooks/rejections.ts',
    find: 'if (this.#told.take(name, TOLD) > 0) {',
    replace: 'if (this.#told.take(name, TOLD) > Infinity) {',
    test: HOOKS,
    name: 'fill no log',
  },
  {
    guard: 'A delivery waits while its order is carried out.',
    file: 'src/modules/orders/webhooks/webhook-receiver.service.ts',
    find: 'if (open === undefined && waiting === 0) {',
    replace: 'if (open === undefined || waiting >= 0) {',
    test: HOOKS,
    name: 'wait while their order',
  },
  {
    guard: 'Pages of browsers send no webhooks.',
    file: 'src/platform/http/gate.ts',
    find: 'if (foreign && headers.origin !== undefined)',
    replace: "if (foreign && headers.origin === '')",
    test: HOOKS,
    name: 'refuse what cannot be done',
  },
  {
    guard: 'A public webhook runs no command.',
    file: 'src/modules/composition/compose/webhooks.ts',
    find: 'else if (isPublic && named.some(',
    replace: 'else if (named.length === 0 && named.some(',
    test: 'src/modules/composition/corpus.spec.ts',
  },
  {
    guard: 'The token of a command is good while it is carried out.',
    file: 'src/modules/session-tokens/command-callers.repository.ts',
    find: 'worker is not null and lease_until > now() and token_hash is not null',
    replace: 'token_hash is not null',
    test: HOSTS,
    name: 'call the api with a token',
  },
  {
    guard: 'What a killed worker has left of a command is ended before it is begun again.',
    file: 'src/modules/launch/city-commands.ts',
    find: 'if (attempt === 1) return;',
    replace: 'if (attempt >= 1) return;',
    test: HOSTS,
    name: 'are lost with a host',
  },
];
