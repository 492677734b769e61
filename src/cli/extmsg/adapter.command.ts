import type { Command } from 'commander';
import { ask, type Schemas } from '../api.js';
import { cityCommand, cityContextOf, keyHeader, printJson, withExamples, withKey } from '../command.js';
import { age } from '../duration.js';
import type { Io } from '../io.js';
import { listAll, type AllFlags } from '../listing.js';
import { table } from '../table.js';
import { defined, numberOf } from '../values.js';

interface Flags {
  readonly accountId: string;
  readonly name?: string;
  readonly maxLength?: string;
  readonly attachments?: boolean;
  readonly leaseSeconds?: string;
  readonly rotate?: boolean;
  readonly stream?: boolean;
  readonly idempotencyKey?: string;
  readonly json?: boolean;
}

type Adapter = Schemas['ExtmsgAdapterInfo'];

const streams = (count: number): string => (count === 1 ? '1 stream' : `${count} streams`);

const withAccount = (command: Command): Command =>
  command.argument('<provider>', 'slack, discord, telegram …').option('--account-id <id>', 'the account that it speaks for', 'default');

export function addAdapters(extmsg: Command, io: Io): void {
  const adapter = extmsg.command('adapter').description('what speaks for an account elsewhere');

  const add = withAccount(cityCommand(adapter, 'add', 'register an adapter; prints its token and its secret, once'))
    .argument('[callback-url]', 'where it takes what sessions publish')
    .option('--stream', 'it has no address, and takes it from a stream: `svc extmsg connect`')
    .option('--name <name>', 'what it is called')
    .option('--max-length <characters>', 'the longest message that it takes')
    .option('--attachments', 'it takes attachments')
    .option('--lease-seconds <n>', 'it is called no more when it has been silent for this long')
    .option('--rotate', 'a new token and a new secret for one that is there')
    .option('--json', 'print the answer as one JSON line');
  withKey(add);
  withExamples(
    add,
    'svc extmsg adapter add slack https://bridge.example.com/alpha',
    'svc extmsg adapter add chat --stream',
    'svc extmsg adapter add slack --rotate',
  );
  add.action(async (provider: string, url: string | undefined, _options, action: Command) => {
    const { api, city, flags } = await cityContextOf<Flags>(action, io);
    const limits = flags.maxLength !== undefined || flags.attachments === true;
    const capabilities = {
      SupportsChildConversations: false,
      SupportsAttachments: flags.attachments === true,
      MaxMessageLength: flags.maxLength === undefined ? 0 : numberOf('--max-length', flags.maxLength),
    };
    const body = {
      provider,
      account_id: flags.accountId,
      ...defined({
        callback_url: url,
        transport: flags.stream === true ? ('stream' as const) : undefined,
        name: flags.name,
        capabilities: limits ? capabilities : undefined,
        lease_seconds: flags.leaseSeconds === undefined ? undefined : numberOf('--lease-seconds', flags.leaseSeconds),
        rotate_secret: flags.rotate,
      }),
    };
    const params = { path: { cityName: city }, header: keyHeader(flags) };
    const { data } = await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/extmsg/adapters', { params, body, signal }));
    if (flags.json === true) return printJson(io, data);
    const given = data.token === undefined ? '' : `token   ${data.token}\nsecret  ${data.secret ?? ''}\n`;
    return io.out(`adapter ${data.name} is registered\n${given}`);
  });

  const list = cityCommand(adapter, 'list', 'list adapters and how they are').option('--json', 'print one JSON line for each');
  withExamples(list, 'svc extmsg adapter list');
  list.action(async (_options, action: Command) => {
    const context = await cityContextOf<AllFlags>(action, io);
    const { api, city } = context;
    const params = { path: { cityName: city } };
    const page = async (): Promise<{ items: Adapter[] }> => {
      const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/extmsg/adapters', { params, signal }));
      return { items: data.items ?? [] };
    };
    const show = (items: readonly Adapter[]): string => {
      const rows = items.map((item) => [
        item.provider,
        item.account_id,
        item.name,
        item.health ?? '',
        item.last_seen_at === undefined ? '' : age(item.last_seen_at),
        item.callback_url ?? (item.transport === 'stream' ? streams(item.connections ?? 0) : ''),
        item.last_error ?? '',
      ]);
      return table(['PROVIDER', 'ACCOUNT', 'NAME', 'HEALTH', 'SEEN', 'CALLBACK', 'LAST ERROR'], rows, io);
    };
    await listAll<Adapter>(context, { empty: 'no adapters; register one with `svc extmsg adapter add`', show, page });
  });

  const remove = withAccount(cityCommand(adapter, 'remove', 'unregister an adapter; its token is good no more')).option(
    '--json',
    'print the answer as one JSON line',
  );
  withExamples(remove, 'svc extmsg adapter remove slack --account-id team-2');
  remove.action(async (provider: string, _options, action: Command) => {
    const { api, city, flags } = await cityContextOf<Flags>(action, io);
    const params = { path: { cityName: city } };
    const body = { provider, account_id: flags.accountId };
    const { data } = await ask(api, (signal) => api.http.DELETE('/v0/city/{cityName}/extmsg/adapters', { params, body, signal }));
    return flags.json === true ? printJson(io, data) : io.out(`${data.status}\n`);
  });
}
