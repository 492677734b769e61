import type { Command } from 'commander';
import { ask } from '../api.js';
import { cityCommand, cityContextOf, printJson, withExamples } from '../command.js';
import { nameOf } from '../edits.js';
import { CliError } from '../errors.js';
import type { Io } from '../io.js';
import { list, withLimit, type ListFlags } from '../listing.js';
import { enabling, ofOrder } from './hints.js';
import { plain } from '../table.js';
import { checkTable, firingDetails, historyTable, hookTable, orderDetails, orderTable, type Entry, type Order } from './view.js';

interface ListedFlags extends ListFlags {
  readonly enabled?: boolean;
  readonly disabled?: boolean;
}

interface JsonFlags {
  readonly json?: boolean;
}

const JSON_LINE = ['--json', 'print the answer as one JSON line'] as const;
/** Of history. */
const PAGE_SIZE = 500;

export function addReads(order: Command, io: Io): void {
  const all = cityCommand(order, 'list', 'list orders, by name; one that cannot be fired is there with what is wrong')
    .option('--enabled', 'only those that are enabled')
    .option('--disabled', 'only those that are not');
  withLimit(all, '100');
  withExamples(all, 'svc order list', 'svc order list --disabled --json');
  all.action(async (_options, action: Command) => {
    const context = await cityContextOf<ListedFlags>(action, io);
    const { api, city, flags } = context;
    if (flags.enabled === true && flags.disabled === true) throw new CliError('--enabled and --disabled are mutually exclusive');
    const filter = flags.enabled === true ? { enabled: true } : flags.disabled === true ? { enabled: false } : {};
    await list<Order>(context, {
      plural: 'orders',
      empty: 'no orders; write one as orders/<name>.toml',
      show: (items) => orderTable(items, io),
      page: async (page) => {
        const params = { path: { cityName: city }, query: { ...filter, ...page } };
        const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/orders', { params, signal }));
        for (const error of page.cursor === undefined ? (data.errors ?? []) : []) io.err(`warning: ${plain(error)}\n`);
        return { ...data, items: data.orders };
      },
    });
  });

  const show = cityCommand(order, 'show', 'show an order: what counts by now, where it was written, and when it comes')
    .argument('<name>', 'the order, or <order>:rig:<rig>')
    .option(...JSON_LINE);
  withExamples(show, 'svc order show nightly-digest');
  show.action(async (name: string, _options, action: Command) => {
    const { api, city, flags } = await cityContextOf<JsonFlags>(action, io);
    const params = { path: { cityName: city, name: nameOf('an order', name) } };
    const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/order/{name}', { params, signal })).catch(ofOrder(name));
    await (flags.json === true ? printJson(io, data) : io.out(orderDetails(data)));
  });

  const next = cityCommand(order, 'next', 'print the next firings of an order, one a line, as far as they are known')
    .argument('<name>', 'the order')
    .option(...JSON_LINE);
  withExamples(next, 'svc order next nightly-digest');
  next.action(async (name: string, _options, action: Command) => {
    const { api, city, flags } = await cityContextOf<JsonFlags>(action, io);
    const params = { path: { cityName: city, name: nameOf('an order', name) } };
    const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/order/{name}', { params, signal })).catch(ofOrder(name));
    const times = data.next ?? [];
    if (flags.json === true) return printJson(io, times);
    if (times.length === 0) io.err(`${plain(whyNever(data))}\n`);
    return io.out(times.map((at) => `${at}\n`).join(''));
  });

  const hooks = cityCommand(order, 'hooks', 'list webhooks: where other systems send to, and which orders that fires').option(...JSON_LINE);
  withExamples(hooks, 'svc order hooks');
  hooks.action(async (_options, action: Command) => {
    const { api, city, flags } = await cityContextOf<JsonFlags>(action, io);
    const params = { path: { cityName: city } };
    const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/orders/hooks', { params, signal }));
    const found = data.webhooks ?? [];
    if (flags.json === true) return printJson(io, data);
    for (const error of data.errors ?? []) io.err(`warning: ${plain(error)}\n`);
    if (found.length === 0) io.err('no webhooks; write one as [[webhook]] in city.toml\n');
    return io.out(hookTable(found, io));
  });

  const check = cityCommand(order, 'check', 'show which orders are due; exits 0 when one is, else 1').option(...JSON_LINE);
  withExamples(check, 'svc order check', 'svc order check --json | jq .checks');
  check.action(async (_options, action: Command) => {
    const { api, city, flags } = await cityContextOf<JsonFlags>(action, io);
    const params = { path: { cityName: city } };
    const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/orders/check', { params, signal }));
    const checks = data.checks ?? [];
    if (flags.json === true) await printJson(io, data);
    else if (checks.length > 0) await io.out(checkTable(checks, io));
    if (!checks.some(({ due }) => due)) throw new CliError(checks.length === 0 ? 'no order is enabled' : 'nothing is due');
  });

  const history = cityCommand(order, 'history', 'list the firings of an order, newest first; or show one by its id').argument(
    '<name>',
    'the order, or the id of a firing',
  );
  withLimit(history);
  withExamples(history, 'svc order history nightly-digest', 'svc order history firing-0123456789abcdef01234567');
  history.action(async (name: string, _options, action: Command) => {
    const context = await cityContextOf<ListFlags>(action, io);
    const { api, city, flags } = context;
    if (/^firing-[0-9a-f]{24}$/.test(name)) {
      const params = { path: { cityName: city, bead_id: name } };
      const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/order/history/{bead_id}', { params, signal }));
      return flags.json === true ? printJson(io, data) : io.out(firingDetails(data));
    }
    const named = { path: { cityName: city, name: nameOf('an order', name) } };
    const found = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/order/{name}', { params: named, signal })).catch(
      ofOrder(name),
    );
    const { scoped_name } = found.data;
    return list<Entry>(context, {
      plural: 'firings',
      empty: `${scoped_name} was never fired`,
      pageSize: PAGE_SIZE,
      show: (entries) => historyTable(entries, io),
      page: async (page) => {
        const params = { path: { cityName: city }, query: { scoped_name, ...page } };
        const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/orders/history', { params, signal }));
        return { ...data, items: data.entries };
      },
    });
  });
}

/** Why an order comes at no time that is known, and what to do about it. */
function whyNever({ scoped_name: name, enabled, errors, trigger }: Order): string {
  if (errors !== undefined) return `${name} cannot be fired: ${errors.join('; ')}`;
  if (!enabled) return `${name} is disabled; ${enabling(name)}`;
  return `${name} comes at no time that is known: its trigger is ${trigger ?? 'none'}`;
}
