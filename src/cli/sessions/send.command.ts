import type { Command } from 'commander';
import { ask } from '../api.js';
import { cityCommand, cityContextOf, keyHeader, withExamples } from '../command.js';
import { nameOf } from '../edits.js';
import { ApiError, CliError } from '../errors.js';
import { hinted } from '../identity.js';
import type { Io } from '../io.js';
import { plain } from '../table.js';
import { positionOf } from './answer.js';
import { messageOf, runOnSession, withWaiting, type WaitFlags } from './operation.js';

interface Flags extends WaitFlags {
  readonly followUp?: boolean;
  readonly interrupt?: boolean;
}

export function addSend(session: Command, io: Io): void {
  const send = cityCommand(session, 'send', 'send a session a message; one that sleeps is woken')
    .argument('<session>', 'the session: an id, a name or an alias')
    .argument('[text]', 'what to say; - or nothing reads stdin')
    .option('--follow-up', 'for after the current turn: the request ends at once')
    .option('--interrupt', 'end the current turn and say it now; a session may do so to itself only');
  withWaiting(send, 'it is delivered');
  withExamples(
    send,
    'svc session send mayor "What is left to do?" --wait',
    'svc session send al-7 "And the tests, please." --follow-up',
    'git diff | svc session send al-7 - --interrupt',
  );
  send.action(async (name: string, typed: string | undefined, _options, action: Command) => {
    const context = await cityContextOf<Flags>(action, io);
    const { api, city, flags } = context;
    if (flags.followUp === true && flags.interrupt === true) throw new CliError('--follow-up and --interrupt are mutually exclusive');
    const intent = flags.followUp === true ? ('follow_up' as const) : flags.interrupt === true ? ('interrupt_now' as const) : undefined;
    const path = { cityName: city, id: nameOf('a session', name) };
    if (typed === undefined && io.lines !== undefined) io.err(`what do you say to ${plain(name)}? (Ctrl-D ends it)\n`);
    const message = await messageOf(typed, () => io.input());
    await runOnSession(context, {
      operation: intent === undefined ? 'session.message' : 'session.submit',
      title: `sending to ${name}`,
      begin: async () => {
        // With a key of its own the message may have been sent long ago: its turn is read where it was, and not looked for first.
        const fresh = flags.wait === true && flags.idempotencyKey === undefined;
        const position = fresh ? await positionOf(api, city, name) : '0';
        const params = { path, header: keyHeader(flags) };
        const { data: accepted } = await ask(api, (signal) =>
          intent === undefined
            ? api.http.POST('/v0/city/{cityName}/session/{id}/messages', { params, body: { message }, signal })
            : api.http.POST('/v0/city/{cityName}/session/{id}/submit', { params, body: { message, intent }, signal }),
        ).catch(answerFirst(name));
        return { accepted, session: accepted.session_id ?? name, position };
      },
      success: (payload) => ((payload as { queued?: boolean }).queued === true ? `queued for ${name}` : `delivered to ${name}`),
    });
  });
}

/** A session that asks something takes no message; what it asks is elsewhere. */
function answerFirst(name: string): (error: unknown) => never {
  return (error) => {
    if (error instanceof ApiError && error.message.startsWith('pending_interaction:'))
      return hinted(409, `answer it first: see \`svc session pending ${plain(name)}\``)(error);
    throw error;
  };
}
