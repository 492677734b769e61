import type { Command } from 'commander';
import { ask } from '../api.js';
import { cityCommand, cityContextOf, withExamples } from '../command.js';
import { each } from '../each.js';
import { told } from '../edits.js';
import type { Io } from '../io.js';
import { addressOf } from './address.js';

const SWITCHES = {
  suspend: ['start no sessions of agents, whatever the files say', 'is suspended'],
  resume: ['let agents have sessions, whatever the files say', 'is resumed'],
  reset: ['let the files say whether agents are suspended', 'is as the files say'],
} as const;

/** What is switched at run time; the files stay as they are. */
export function addSwitches(agent: Command, io: Io): void {
  for (const verb of ['suspend', 'resume', 'reset'] as const) {
    const [about, done] = SWITCHES[verb];
    const command = cityCommand(agent, verb, about)
      .argument('<name...>', 'the agents: `mayor`, `core.worker`, `web/core.worker`')
      .option('--json', 'print one JSON line for each');
    withExamples(command, `svc agent ${verb} mayor`, `svc agent ${verb} web/core.worker docs/core.worker`);
    command.action(async (names: string[], _options, action: Command) => {
      const context = await cityContextOf<{ json?: boolean }>(action, io);
      const { api, city } = context;
      await each(context, names, async (name) => {
        const address = { cityName: city, action: verb, ...addressOf(name) };
        const { data } = await ask(api, (signal) =>
          'dir' in address
            ? api.http.POST('/v0/city/{cityName}/agent/{dir}/{base}/{action}', { params: { path: address }, signal })
            : api.http.POST('/v0/city/{cityName}/agent/{base}/{action}', { params: { path: address }, signal }),
        );
        await told(context, name, data, done);
      });
    });
  }
}
