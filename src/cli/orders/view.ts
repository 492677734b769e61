import type { Schemas } from '../api.js';
import { age, moment, showDuration } from '../duration.js';
import type { Io } from '../io.js';
import { block, facts, plain, table } from '../table.js';

export type Order = Schemas['OrderResponse'];
export type Check = Schemas['OrderCheckResponse'];
export type Entry = Schemas['OrderHistoryEntry'];

const when = (instant: string | undefined): string => (instant === undefined ? '' : moment(instant));
const failures = ({ consecutive_failures: n = 0 }: Order): string => (n > 1 ? ` (${n} in a row)` : '');

/** What makes it come, in a word and what belongs to it. */
function comes(order: Order): string {
  const more = { cooldown: order.interval, cron: order.schedule, event: order.on }[order.trigger as string];
  return `${order.trigger ?? ''}${more === undefined ? '' : ` ${more}`}`;
}

export function orderTable(orders: readonly Order[], io: Io): string {
  const rows = orders.map((order) => [
    order.scoped_name,
    order.errors !== undefined ? 'broken' : order.enabled ? 'enabled' : 'disabled',
    comes(order),
    order.last_run === undefined ? 'never' : age(order.last_run),
    `${order.last_run_outcome ?? ''}${failures(order)}`,
    when(order.next_due_at),
    order.errors?.join('; ') ?? order.description ?? '',
  ]);
  return table(['ORDER', 'STATE', 'COMES', 'LAST', 'OUTCOME', 'NEXT', 'ABOUT'], rows, io);
}

export function orderDetails(order: Order): string {
  const head = facts([
    ['order', order.scoped_name],
    ['state', order.enabled ? 'enabled' : 'disabled'],
    ['about', order.description],
    ['runs', order.exec ?? `formula ${order.formula ?? ''}`],
    ['comes', comes(order)],
    ['time zone', order.tz],
    ['check', order.check],
    ['delivery', order.delivery],
    ['timeout', order.exec === undefined ? undefined : showDuration(order.timeout_ms)],
    ['pool', order.pool],
    [
      'params',
      Object.entries(order.params ?? {})
        .map(([name, { required }]) => (required ? `${name} (required)` : name))
        .join(', ') || undefined,
    ],
    ['source', order.source?.file],
    ['last run', order.last_run === undefined ? 'never' : `${moment(order.last_run)} ${order.last_run_outcome ?? ''}${failures(order)}`],
    ['next', order.next?.map((at) => moment(at)).join(', ') || undefined],
    ['errors', order.errors?.join('; ')],
  ]);
  const written = Object.entries(order.origins ?? {}).map(([key, { file, key: place }]) => [key, `${file}: ${place}`]);
  return written.length === 0 ? head : `${head}\n${table(['KEY', 'WRITTEN IN'], written)}`;
}

export function checkTable(checks: readonly Check[], io: Io): string {
  const rows = checks.map((check) => [check.scoped_name, check.due ? 'due' : '', when(check.next_due_at), check.reason]);
  return table(['ORDER', 'DUE', 'NEXT', 'REASON'], rows, io);
}

export function hookTable(hooks: readonly Schemas['WebhookResponse'][], io: Io): string {
  const rows = hooks.map((hook) => {
    const wrong = [...(hook.errors ?? []), ...(hook.rules ?? []).flatMap(({ errors = [] }) => errors)];
    const fires = (hook.rules ?? []).map(({ order, event }) => (event === undefined ? order : `${event}: ${order}`)).join(', ');
    const about = wrong.length === 0 ? fires : wrong.join('; ');
    return [hook.scoped_name, hook.visibility, hook.scheme, hook.ready ? 'yes' : 'no', String(hook.waiting), hook.path, about];
  });
  return table(['WEBHOOK', 'FOR', 'SCHEME', 'READY', 'WAIT', 'PATH', 'FIRES'], rows, io);
}

export function historyTable(entries: readonly Entry[], io: Io): string {
  const rows = entries.map((entry) => [
    entry.bead_id,
    moment(entry.created_at),
    entry.outcome ?? entry.state ?? '',
    entry.cause ?? '',
    entry.duration_ms === undefined ? '' : showDuration(Number(entry.duration_ms)),
    entry.error ?? (entry.wisp_root_id === undefined ? lastLine(entry.output ?? '') : `run ${entry.wisp_root_id}`),
  ]);
  return table(['FIRING', 'BEGAN', 'OUTCOME', 'CAUSE', 'TOOK', 'SAID'], rows, io);
}

export function firingDetails({ entry, output, vars = {} }: Schemas['OrderHistoryDetailResponse']): string {
  const head = facts([
    ['firing', entry?.bead_id],
    ['order', entry?.scoped_name],
    ['outcome', entry?.outcome ?? entry?.state],
    ['cause', entry?.cause],
    ['actor', entry?.actor],
    ['reason', entry?.reason],
    ['began', entry === undefined ? undefined : moment(entry.created_at)],
    ['took', entry?.duration_ms === undefined ? undefined : showDuration(Number(entry.duration_ms))],
    ['run', entry?.wisp_root_id],
    ['exit code', entry?.exit_code],
    ['error', entry?.error],
    [
      'vars',
      Object.entries(vars)
        .map(([name, value]) => `${name}=${value}`)
        .join(', ') || undefined,
    ],
  ]);
  return output === '' ? head : `${head}\n${block(output)}`;
}

function lastLine(text: string): string {
  return plain(text.trimEnd().split('\n').at(-1) ?? '');
}
