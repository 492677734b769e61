import type { Command } from 'commander';
import { ask } from '../api.js';
import { cityCommand, cityContextOf, printJson, withExamples } from '../command.js';
import { each } from '../each.js';
import { nameOf } from '../edits.js';
import { CliError } from '../errors.js';
import type { Io } from '../io.js';
import { plain } from '../table.js';

const ACTIONS = {
  suspend: ['start no sessions in rigs, whatever the files say', 'is suspended'],
  resume: ['let rigs have sessions, whatever the files say', 'is resumed'],
  reset: ['let the files say whether rigs are suspended', 'is as the files say'],
  restart: ['end the sessions of rigs; they are started again', 'is restarted'],
} as const;

/** What is done to a rig at run time; the files stay as they are. */
export function addSwitches(rig: Command, io: Io): void {
  for (const verb of ['suspend', 'resume', 'reset', 'restart'] as const) {
    const [about, done] = ACTIONS[verb];
    const command = cityCommand(rig, verb, about).argument('<name...>', 'the rigs').option('--json', 'print one JSON line for each');
    withExamples(command, `svc rig ${verb} web`, `svc rig ${verb} web docs --json`);
    command.action(async (names: string[], _options, action: Command) => {
      const context = await cityContextOf<{ json?: boolean }>(action, io);
      const { api, city, flags } = context;
      await each(context, names, async (name) => {
        const params = { path: { cityName: city, name: nameOf('a rig', name), action: verb } };
        const { data } = await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/rig/{name}/{action}', { params, signal }));
        const failed = data.failed ?? [];
        const ended = data.killed ?? [];
        if (flags.json === true) await printJson(io, data);
        else if (failed.length === 0) await io.out(plain(`${name} ${done}${ended.length === 0 ? '' : `: ${ended.join(', ')}`}`) + '\n');
        if (failed.length > 0) throw new CliError(`${name}: sessions that could not be ended: ${failed.join(', ')}`);
      });
    });
  }
}
