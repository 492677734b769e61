import type { Command } from 'commander';
import { ask, patient, type Api } from '../api.js';
import { cityCommand, cityContextOf, pathOf, withExamples } from '../command.js';
import { nameOf } from '../edits.js';
import { ApiError } from '../errors.js';
import type { Io } from '../io.js';
import type { Session } from '../sessions/view.js';
import { numberOf } from '../values.js';
import { agentOf, orNothing } from '../why/why-bead.js';
import { attachTerminal } from './attach-terminal.js';
import { attachLines } from './attach-lines.js';

interface Flags {
  readonly thinking: boolean;
  readonly tail: string;
}

export function addAttach(parent: Command, io: Io): void {
  const attach = cityCommand(parent, 'attach', 'talk to a session at a terminal, and see what it says and does; it goes on when you leave')
    .argument('<session>', 'the session: an id, a name or an alias')
    .option('--no-thinking', 'leave out what the agent thinks')
    .option('--tail <n>', 'of what was said before, only the last n entries', '50');
  const path = pathOf(attach);
  withExamples(attach, `${path} mayor`, `${path} al-7 --tail 0`, `printf 'What is left?\\nAnd the tests?\\n' | ${path} mayor`);
  attach.addHelpText(
    'after',
    `
Keys:
  Enter sends what is typed (a session that sleeps is woken), Alt-Enter and Ctrl-J begin another line
  Ctrl-C clears what is typed, then ends the turn; a digit answers what is asked
  Ctrl-D and Ctrl-P Ctrl-Q leave; /help has the rest

Where stdin or stdout is no terminal each line of stdin is a message, sent when the turn of the one before is over;
after the last one's it ends. Behind one that was cut off or not delivered none is sent, and it ends with 1. With nothing on
stdin it only follows.
`,
  );
  attach.action(async (name: string, _options, action: Command) => {
    const { api, city, flags, path: called } = await cityContextOf<Flags>(action, io);
    const session = await present(api, city, nameOf('a session', name));
    const given = numberOf('--tail', flags.tail);
    const tail = session === undefined ? undefined : given;
    const attaching = { io, api: patient(api), city, name, session, thinking: flags.thinking, tail, path: called };
    await (io.terminal === undefined ? attachLines(attaching) : attachTerminal(attaching, io.terminal));
  });
}

/** The session; undefined for one that an agent's name may still make. @throws ApiError */
async function present(api: Api, cityName: string, name: string): Promise<Session | undefined> {
  const params = { path: { cityName, id: name } };
  try {
    return (await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/session/{id}', { params, signal }))).data;
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404 || (await orNothing(agentOf(api, cityName, name))) === undefined) throw error;
    return undefined;
  }
}
