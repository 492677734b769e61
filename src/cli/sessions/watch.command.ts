import type { Command } from 'commander';
import { ask, telling } from '../api.js';
import { cityCommand, cityContextOf, printJson, withExamples, type CityContext } from '../command.js';
import { nameOf } from '../edits.js';
import { CliError, InterruptedError, oneLine } from '../errors.js';
import type { Io } from '../io.js';
import { pausesOf } from '../pauses.js';
import { plain } from '../table.js';
import { numberOf } from '../values.js';
import { answerOf, respondCommand } from './answers.js';
import { ConversationView, tailOf } from './conversation-view.js';
import type { Question } from '../../client/turns.js';

interface Flags {
  readonly thinking?: boolean;
  readonly untilIdle?: boolean;
  readonly tail?: string;
  readonly json?: boolean;
}

type Context = CityContext<Flags>;

export function addWatch(session: Command, io: Io): void {
  const watch = cityCommand(session, 'watch', 'follow a session until Ctrl-C or its end; in a terminal its questions can be answered')
    .argument('<session>', 'the session: an id, a name or an alias')
    .option('--thinking', 'show what the agent thinks, too')
    .option('--tail <n>', 'of what was said before, only the last n entries')
    .option('--until-idle', 'end when no turn is under way and no message waits')
    .option('--json', 'print the frames as JSON lines: id, event, data');
  withExamples(watch, 'svc session watch mayor', 'svc session watch al-7 --tail 0 --until-idle', 'svc session watch al-7 --json');
  watch.action(async (name: string, _options, action: Command) => {
    const context = await cityContextOf<Flags>(action, io);
    await watchSession(context, nameOf('a session', name));
  });
}

/** Follows over as many connections as it takes. Interrupting it leaves the session as it is. */
async function watchSession(context: Context, session: string): Promise<void> {
  const { api, city, flags, io } = context;
  const tail = flags.tail === undefined ? undefined : numberOf('--tail', flags.tail);
  const view = new ConversationView({
    colour: io.colour,
    width: io.width,
    thinking: flags.thinking === true,
    tail,
    hint: hintOf(io, session),
  });
  const done = new AbortController();
  const signal = AbortSignal.any([io.signal, done.signal]);
  const pauses = pausesOf({ err: (text) => io.err(view.fresh() + text) }, context.path);
  let failure: { readonly error: unknown } | undefined;
  const failed = (error: unknown): void => {
    if (!done.signal.aborted) failure = { error };
    done.abort();
  };
  const typing =
    flags.json === true || io.lines === undefined ? undefined : answering(context, session, view, io.lines(signal)).catch(failed);
  try {
    const following = api.client.session(city, session).follow({ thinking: flags.thinking === true, signal, ...pauses, mustOpen: true });
    for await (const frame of telling(api, following)) {
      const text = view.frame(frame);
      if (flags.json !== true) await io.out(text);
      else if (frame.event !== 'heartbeat') await printJson(io, tailOf(frame, tail));
      if (flags.untilIdle === true && frame.event !== 'structured' && view.activity === 'idle' && (await isSettled(context, session)))
        break;
    }
  } finally {
    done.abort();
    await typing;
    if (flags.json !== true) await io.out(view.fresh());
  }
  if (io.signal.aborted) throw new InterruptedError();
  if (failure !== undefined) throw failure.error;
}

/** Nothing is under way and nothing waits. */
async function isSettled({ api, city }: Context, session: string): Promise<boolean> {
  const path = { cityName: city, id: session };
  const [{ data: now }, { data: queue }] = await Promise.all([
    ask(api, (signal) => api.http.GET('/v0/city/{cityName}/session/{id}', { params: { path }, signal })),
    ask(api, (signal) =>
      api.http.GET('/v0/city/{cityName}/session/{id}/messages', {
        params: { path, query: { status: ['queued', 'in_flight'], limit: 1 } },
        signal,
      }),
    ),
  ]);
  if (now.state === 'closed') return true;
  return now.activity !== 'in-turn' && queue.items.length === 0 && now.state !== 'start-pending' && now.state !== 'creating';
}

/** What stands under a question: where to type, or the command that answers it. */
function hintOf(io: Io, session: string): (question: Question) => string {
  return (question) => {
    if (io.lines === undefined) return `  answer with: ${respondCommand(session, question)}\n`;
    const { choices = [] } = question;
    return choices.length === 0 ? 'answer: ' : `answer (1${choices.length > 1 ? `-${choices.length}` : ''}, or a word): `;
  };
}

/** Gives what a person types to the question that is open. A refusal is told, and the question stays. */
async function answering(
  { api, city, io, path }: Context,
  session: string,
  view: ConversationView,
  lines: AsyncIterable<string>,
): Promise<void> {
  for await (const line of lines) {
    view.typed();
    if (line.trim() === '') continue;
    const { question } = view;
    if (question === undefined) {
      io.err(`${path}: nothing is asked now; \`svc session send ${plain(session)}\` sends a message\n`);
      continue;
    }
    const params = { path: { cityName: city, id: session } };
    const body = answerOf(question, line)!;
    try {
      await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/session/{id}/respond', { params, body, signal }));
    } catch (error) {
      if (!(error instanceof CliError) || error instanceof InterruptedError) throw error;
      io.err(`${path}: ${plain(oneLine(error.message))}\n`);
      await io.out(view.again());
    }
  }
}
