import { TurnLost } from '../../client/conversation.js';
import type { SessionFrame } from '../../client/turns.js';
import { failing, telling } from '../api.js';
import { CliError, InterruptedError, oneLine } from '../errors.js';
import { EXIT } from '../exit-codes.js';
import { cutOff } from '../sessions/answer.js';
import { respondCommand } from '../sessions/answers.js';
import { pausesTold } from '../pauses.js';
import { ConversationView } from '../sessions/conversation-view.js';
import { plain } from '../table.js';
import type { Attaching } from './attaching.js';
import { Talk } from './talk.js';

/** How far the stream has come: which messages it has shown, and whether the turn behind them is over. */
class Shown {
  readonly #messages = new Set<string>();
  #idle = false;

  take(frame: SessionFrame): void {
    if (frame.event === 'activity') this.#idle = frame.data.activity === 'idle';
    if (frame.event !== 'structured') return;
    for (const { id, role } of frame.data.structured_messages) {
      if (role !== 'user' || this.#messages.has(id)) continue;
      this.#messages.add(id);
      this.#idle = false;
    }
  }

  /** Whether all of the turn of this message is shown. */
  isOver(message: string): boolean {
    return this.#idle && this.#messages.has(message);
  }
}

interface End {
  /** The message with whose turn it ends. */
  last?: string;
  /** Whether a message was not delivered. */
  lost: boolean;
  /** Whether the turn of one was cut off. */
  half: boolean;
  failure?: { readonly error: unknown };
}

/**
 * The same without a terminal: the conversation on stdout, and each line of stdin a message. A person's lines are taken as they come,
 * with commands and answers among them; those of a program are messages and nothing else, whatever they say, and each waits for the
 * answer to the one before: without it none follows.
 */
export async function attachLines(attaching: Attaching): Promise<void> {
  const { io, api, city, name, thinking, tail, path } = attaching;
  const id = attaching.session?.id ?? name;
  const view = new ConversationView({
    colour: io.colour,
    width: io.width,
    thinking,
    tail,
    turns: false,
    hint: (question) => `  answer with: ${respondCommand(id, question)}\n`,
  });
  const done = new AbortController();
  const signal = AbortSignal.any([io.signal, done.signal]);
  const tell = (why: string): void => io.err(`${view.fresh()}${path}: ${plain(oneLine(why))}\n`);
  const shown = new Shown();
  const end: End = { lost: false, half: false };
  const ended = (): void => {
    if (end.last !== undefined && shown.isOver(end.last)) done.abort();
  };
  const lines = io.received?.(signal) ?? [];
  // One that is not there yet is made by its first message.
  let made = (): void => undefined;
  const there = new Promise<void>((resolve) => {
    made = resolve;
    if (attaching.session !== undefined) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  let any = false;
  // The line that is on its way, and its turn.
  let saying = Promise.resolve();
  // What is said before the stream has begun would be part of what was said before, of which `--tail` leaves out some.
  let begin = (): void => undefined;
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
    if (attaching.session === undefined) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  const conversation = api.client.session(city, id);
  const ofPerson = async (): Promise<void> => {
    const talk = new Talk({
      api,
      city,
      session: id,
      size: io,
      say: (text) => io.err(view.fresh() + text),
      note: tell,
      leave: () => done.abort(),
      sent: made,
    });
    for await (const line of lines) {
      if (line.trim() === '') continue;
      await talk.typed(line, view.question).catch((error: unknown) => {
        if (!(error instanceof CliError) || error instanceof InterruptedError) throw error;
        tell(error.message);
      });
    }
    done.abort();
  };
  const failed = (error: unknown): void => {
    if (signal.aborted) return;
    end.failure = { error };
    done.abort();
  };
  const ofProgram = async (): Promise<void> => {
    let sent: string | undefined;
    const say = async (line: string): Promise<void> => {
      await begun;
      const turn = await conversation.send(line, { signal }).catch(failing(api));
      made();
      try {
        const { messageId, stopReason, isCutOff } = await turn.answer({ signal });
        sent = messageId;
        if (!isCutOff || signal.aborted) return;
        end.half = true;
        tell(cutOff(stopReason));
      } catch (error) {
        if (!(error instanceof TurnLost)) return failing(api)(error);
        end.lost = true;
        tell(error.message);
      }
    };
    for await (const line of lines) {
      if (line.trim() === '') continue;
      any = true;
      saying = say(line).catch(failed);
      await saying;
      if (signal.aborted) return;
      // What comes behind it counts on its answer.
      if (end.half || end.lost) break;
    }
    if (!any && attaching.session === undefined)
      throw new CliError(`session ${name} is not there yet: its first message makes it`, EXIT.notFound);
    if (sent !== undefined) end.last = sent;
    else if (any) done.abort();
    ended();
  };
  const sending = (io.typed === true ? ofPerson() : ofProgram()).catch(failed);
  const pauses = pausesTold(tell);
  try {
    await there;
    for await (const frame of telling(api, conversation.follow({ thinking, signal, ...pauses }))) {
      shown.take(frame);
      await io.out(view.frame(frame));
      if (frame.event === 'structured' || frame.event === 'heartbeat') begin();
      ended();
    }
    // The stream of a closed session ends, with nothing in it perhaps, before it is known that it takes no line, or has cut a turn off.
    begin();
    await saying;
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    done.abort();
    await sending;
    await io.out(view.fresh());
  }
  if (io.signal.aborted) throw new InterruptedError();
  if (end.failure !== undefined) throw end.failure.error;
  if (end.lost) throw new CliError('a message was not delivered: no more is sent');
  if (end.half) throw new CliError('a message was not answered to its end: no more is sent');
}
