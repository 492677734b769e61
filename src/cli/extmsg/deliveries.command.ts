import { Option, type Command } from 'commander';
import { ask, type Schemas } from '../api.js';
import { cityCommand, cityContextOf, printJson, withExamples } from '../command.js';
import { age, showDuration } from '../duration.js';
import type { Io } from '../io.js';
import { list, withLimit, type ListFlags } from '../listing.js';
import { table } from '../table.js';
import { defined } from '../values.js';
import { shown } from './conversation.js';

type Delivery = Schemas['ExtmsgDelivery'];

interface Flags extends ListFlags {
  readonly status?: string;
  readonly direction?: Delivery['direction'];
}

export function addDeliveries(extmsg: Command, io: Io): void {
  const command = cityCommand(extmsg, 'deliveries', 'list what is on its way to members and adapters, newest first')
    .option('--status <state>', 'only these: pending, queued, delivered, failed, skipped; by commas')
    .addOption(new Option('--direction <direction>', 'only this').choices(['inbound', 'peer', 'outbound']));
  withLimit(command);
  withExamples(command, 'svc extmsg deliveries --status failed');
  command.action(async (_options, action: Command) => {
    const context = await cityContextOf<Flags>(action, io);
    const { api, city, flags } = context;
    const filters = defined({ status: flags.status === undefined ? undefined : [flags.status], direction: flags.direction });
    await list<Delivery>(context, {
      plural: 'deliveries',
      empty: 'nothing is on its way',
      show: (items) => {
        const rows = items.map((one) => [
          one.id,
          one.direction,
          one.state,
          shown(one.conversation),
          one.session,
          age(one.created_at),
          why(one),
        ]);
        return table(['ID', 'DIRECTION', 'STATE', 'CONVERSATION', 'WHO', 'AGE', 'WHY'], rows, io);
      },
      page: async (page) => {
        const params = { path: { cityName: city }, query: { ...filters, ...page } };
        const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/extmsg/deliveries', { params, signal }));
        return data;
      },
    });
  });

  const retry = cityCommand(extmsg, 'retry', 'try a delivery that has failed once more')
    .argument('<id>', 'the delivery')
    .option('--json', 'print the delivery as one JSON line');
  withExamples(retry, 'svc extmsg retry dlv-0123456789abcdef01234567');
  retry.action(async (id: string, _options, action: Command) => {
    const { api, city, flags } = await cityContextOf<Flags>(action, io);
    const params = { path: { cityName: city, id } };
    const { data } = await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/extmsg/delivery/{id}/retry', { params, signal }));
    return flags.json === true ? printJson(io, data) : io.out(`${data.id} is ${data.state}\n`);
  });
}

/** Of what is tried again: how often it was, and how long it waits for the next time. */
function why({ error, error_code, state, attempts, next_attempt_at: next }: Delivery): string {
  const said = error ?? error_code ?? '';
  if (state !== 'pending' || attempts === 0) return said;
  const ms = next === undefined ? 0 : Date.parse(next) - Date.now();
  const again = ms > 0 ? `, again in ${showDuration(ms)}` : '';
  return `${said} (${attempts === 1 ? '1 try' : `${attempts} tries`}${again})`.trim();
}
