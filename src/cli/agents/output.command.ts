import type { Command } from 'commander';
import { ask, telling, type Schemas } from '../api.js';
import { cityCommand, cityContextOf, pathOf, printJson, withExamples } from '../command.js';
import { InterruptedError } from '../errors.js';
import { followFrames, type OpenStream } from '../../client/follow.js';
import type { Io } from '../io.js';
import { pausesOf } from '../pauses.js';
import { ConversationView } from '../sessions/conversation-view.js';
import { objectOf } from '../../client/frames.js';
import type { Message } from '../../client/turns.js';
import { defined, numberOf } from '../values.js';
import { addressOf } from './address.js';

interface Flags {
  readonly follow?: boolean;
  readonly tail?: string;
  readonly json?: boolean;
}

type Output = Schemas['AgentOutputResponse'];

/** What an agent says, whichever of its sessions says it. */
export function addOutput(parent: Command, io: Io, called = 'output'): void {
  const output = cityCommand(parent, called, 'show what an agent has said, whichever session speaks for it')
    .argument('<name>', 'the agent: `mayor`, `core.worker`, `web/core.worker`')
    .option('-f, --follow', 'go on with what it says, until Ctrl-C')
    .option('--tail <n>', 'the last n segments of its conversation, which compactions divide; 0 for all', '1')
    .option('--json', 'print the answer as one JSON line; each frame with --follow');
  const path = pathOf(output);
  withExamples(output, `${path} mayor`, `${path} web/core.worker --follow`, `${path} mayor --tail 0 --json`);
  output.action(async (name: string, _options, action: Command) => {
    const { api, city, flags } = await cityContextOf<Flags>(action, io);
    const path = { cityName: city, ...addressOf(name) };
    const view = new TurnsView(new ConversationView({ colour: io.colour, width: io.width, thinking: false, hint: () => '' }));
    if (flags.follow !== true) {
      const query = { tail: String(numberOf('--tail', flags.tail ?? '1')) };
      const { data } = await ask(api, (signal) =>
        'dir' in path
          ? api.http.GET('/v0/city/{cityName}/agent/{dir}/{base}/output', { params: { path, query }, signal })
          : api.http.GET('/v0/city/{cityName}/agent/{base}/output', { params: { path, query }, signal }),
      );
      if (flags.json === true) return printJson(io, data);
      if ((data.turns ?? []).length === 0) return io.err(`${name} has said nothing yet\n`);
      return io.out(view.take(data) + view.end());
    }
    const { signal } = io;
    const pauses = pausesOf({ err: (text) => io.err(view.end() + text) }, pathOf(action));
    const open = (lastEventId: string | undefined): ReturnType<OpenStream> => {
      const header = defined({ 'Last-Event-ID': lastEventId });
      return 'dir' in path
        ? api.client.open('/v0/city/{cityName}/agent/{dir}/{base}/output/stream', { path, header, signal })
        : api.client.open('/v0/city/{cityName}/agent/{base}/output/stream', { path, header, signal });
    };
    for await (const { event, data, id } of telling(
      api,
      followFrames(open, { signal, again: ({ status }, at) => at !== undefined && status === 410, ...pauses, mustOpen: true }),
    )) {
      if (event !== 'turn') continue;
      const answer = objectOf(data, event, id) as Output;
      await io.out(flags.json === true ? `${JSON.stringify(answer)}\n` : view.take(answer));
    }
    if (flags.json !== true) await io.out(view.end());
    throw new InterruptedError();
  });
}

/** Turns as entries of a conversation; a turn without an id is one of its own. */
class TurnsView {
  #session: string | undefined;
  #unnamed = 0;

  constructor(private readonly view: ConversationView) {}

  take({ turns, session_id: session }: Output): string {
    const next = session !== undefined && this.#session !== undefined && session !== this.#session;
    this.#session = session ?? this.#session;
    const texts = (turns ?? []).map((turn) =>
      this.view.message(messageOf(turn, `${session ?? ''} ${turn.id ?? `unnamed ${this.#unnamed++}`}`)),
    );
    return (next ? this.view.note(`session ${session}`) : '') + texts.join('');
  }

  end(): string {
    return this.view.fresh();
  }
}

function messageOf({ role, text, status }: Schemas['OutputTurn'], id: string): Message {
  const known = role === 'user' || role === 'assistant' ? role : 'system';
  return {
    role: known,
    id,
    status: status === 'partial' || status === 'superseded' ? status : 'final',
    blocks: [{ type: 'text', text }],
  } as Message;
}
