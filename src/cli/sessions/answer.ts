import { TurnLost } from '../../client/conversation.js';
import { timeLimit } from '../../client/sleep.js';
import { told, type Api } from '../api.js';
import { printJson, type CityContext } from '../command.js';
import { CliError, InterruptedError, TimedOutError } from '../errors.js';
import { harmless, harmlessLine } from '../harmless.js';
import type { Io } from '../io.js';
import { defined } from '../values.js';

export interface Answer {
  readonly session_id: string;
  readonly message_id: string;
  /** What the agent has said in the turn. */
  readonly answer: string;
  /** How the turn has ended. */
  readonly stop_reason?: string;
}

/** Of a turn that somebody, or a failure, has ended before the agent was done, or of which nobody knows how it has ended. */
export const cutOff = (stopReason: string | undefined): string =>
  stopReason === undefined
    ? 'nobody knows how the turn has ended: this may be half an answer'
    : `the turn was cut off (${harmlessLine(stopReason)}), and its answer with it; send it again`;

export interface Awaited {
  readonly session: string;
  readonly requestId: string;
  /** Of the transcript, before the message. */
  readonly position: string;
  readonly timeoutMs: number | undefined;
}

/** The newest position of a session's transcript; `0` for one that is not there yet. */
export function positionOf(api: Api, city: string, session: string): Promise<string> {
  return api.client
    .session(city, session)
    .position(api.signal)
    .catch((error: unknown) => {
      throw told(api, error);
    });
}

/** Waits for the end of a message's turn; `isWhole` unless it was cut off. @throws CliError when it comes to nothing, InterruptedError at Ctrl-C */
export async function answerTo({ api, city }: CityContext<object>, awaited: Awaited): Promise<{ answer: Answer; isWhole: boolean }> {
  const { session, requestId, position, timeoutMs } = awaited;
  const limit = timeoutMs === undefined ? [] : [timeLimit(timeoutMs)];
  const signal = AbortSignal.any([api.signal, ...limit]);
  try {
    const turn = api.client.session(city, session).turn(requestId, position);
    const { messageId, text, stopReason, isCutOff } = await turn.answer({ signal });
    const answer = { session_id: session, message_id: messageId, answer: text, ...defined({ stop_reason: stopReason }) };
    return { answer, isWhole: !isCutOff };
  } catch (error) {
    if (api.signal.aborted) throw new InterruptedError(`interrupted; session ${session} goes on`);
    if (signal.aborted) throw new TimedOutError(`no answer within the time-out; session ${session} goes on`);
    if (error instanceof TurnLost) throw new CliError(harmlessLine(error.message));
    throw told(api, error);
  }
}

export async function tellAnswer(io: Io, flags: { readonly json?: boolean }, answer: Answer): Promise<void> {
  if (flags.json === true) return printJson(io, answer);
  const text = harmless(answer.answer).trimEnd();
  if (text !== '') await io.out(`${text}\n`);
}
