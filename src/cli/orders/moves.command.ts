import type { Command } from 'commander';
import { ask } from '../api.js';
import { cityCommand, cityContextOf, collect, keyHeader, printJson, withExamples, withKey } from '../command.js';
import { matchHeader, nameOf, told, withIfMatch } from '../edits.js';
import { TIMEOUT, waitingOf } from '../ending.js';
import { CliError } from '../errors.js';
import type { Io } from '../io.js';
import { plain } from '../table.js';
import { pairsOf } from '../values.js';
import { lookUntil } from '../pauses.js';
import { ofOrder } from './hints.js';

interface SwitchFlags {
  readonly ifMatch?: string;
  readonly json?: boolean;
}

interface RunFlags {
  readonly var?: readonly string[];
  readonly force?: boolean;
  readonly wait?: boolean;
  readonly timeout?: string;
  readonly idempotencyKey?: string;
  readonly json?: boolean;
}

const SWITCHES = { enable: 'enabled', disable: 'disabled' } as const;
/** Between two looks at a firing that is waited for, in milliseconds. */
const LOOK_MS = 300;

export function addMoves(order: Command, io: Io): void {
  for (const action of ['enable', 'disable'] as const) {
    const command = cityCommand(order, action, `${action} an order, in the city’s file`)
      .argument('<name>', 'the order, or <order>:rig:<rig>')
      .option('--json', 'print the answer as one JSON line');
    withIfMatch(command, 'the configuration');
    withExamples(command, `svc order ${action} nightly-digest`);
    command.action(async (name: string, _options, at: Command) => {
      const context = await cityContextOf<SwitchFlags>(at, io);
      const { api, city, flags } = context;
      const params = { path: { cityName: city, name: nameOf('an order', name) }, header: matchHeader(flags, [name]) };
      const { data } = await ask(api, (signal) =>
        action === 'enable'
          ? api.http.POST('/v0/city/{cityName}/order/{name}/enable', { params, signal })
          : api.http.POST('/v0/city/{cityName}/order/{name}/disable', { params, signal }),
      ).catch(ofOrder(name));
      await told(context, name, data, `is ${SWITCHES[action]}`);
    });
  }

  const run = cityCommand(order, 'run', 'fire an order now, whatever its trigger; prints the id of the firing')
    .argument('<name>', 'the order, or <order>:rig:<rig>')
    .option('--var <name=value>', 'a value that it gets; repeatable', collect)
    .option('--force', 'also while another firing of it is open')
    .option('--wait', 'wait until it has ended, and exit 1 unless it succeeded')
    .option(...TIMEOUT)
    .option('--json', 'print the answer as one JSON line');
  withKey(run);
  withExamples(run, 'svc order run deploy-hook --var ref=v1.2.3 --wait');
  run.action(async (name: string, _options, action: Command) => {
    const { api, city, flags, path } = await cityContextOf<RunFlags>(action, io);
    const timeoutMs = waitingOf(flags);
    const vars = pairsOf('--var', flags.var);
    const body = { ...(vars === undefined ? {} : { vars }), ...(flags.force === true ? { force: true } : {}) };
    const params = { path: { cityName: city, name: nameOf('an order', name) }, header: keyHeader(flags) };
    const { data } = await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/order/{name}/run', { params, body, signal })).catch(
      ofOrder(name),
    );
    const id = data.tracking_id ?? '';
    if (flags.wait !== true) return flags.json === true ? printJson(io, data) : io.out(`${id}\n`);
    const at = { path: { cityName: city, bead_id: id } };
    const look = async () => {
      const firing = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/order/history/{bead_id}', { params: at, signal }));
      return firing.data.entry?.state === 'done' ? { firing: firing.data, entry: firing.data.entry } : undefined;
    };
    const goesOn = `${id} goes on: see \`svc order history ${id}\``;
    const { firing, entry } = await lookUntil(io, path, look, { everyMs: LOOK_MS, timeoutMs, goesOn });
    const begun =
      entry.wisp_root_id === undefined ? '' : `run ${entry.wisp_root_id} has begun: see \`svc run watch ${entry.wisp_root_id}\`\n`;
    await (flags.json === true ? printJson(io, firing) : io.out(`${lines(firing.output)}${begun}`));
    if (entry.outcome !== 'success') throw new CliError(`${id} ended as ${entry.outcome ?? 'failed'}: ${entry.error ?? ''}`);
  });
}

/** Control characters of a command's output never reach the terminal. */
function lines(output: string): string {
  return output === '' ? '' : `${output.trimEnd().split('\n').map(plain).join('\n')}\n`;
}
