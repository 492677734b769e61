import type { Command } from 'commander';
import { ask, telling, type Api } from '../api.js';
import { cityCommand, cityContextOf, withExamples } from '../command.js';
import { ApiError, CliError, InterruptedError, UnreachableError } from '../errors.js';
import { followFrames, type OpenStream } from '../../client/follow.js';
import { harmless } from '../harmless.js';
import type { Io } from '../io.js';
import { objectOf } from '../../client/frames.js';
import { pausesTold } from '../pauses.js';
import { defined, numberOf } from '../values.js';
import { plain } from '../table.js';
import { shown } from './conversation.js';
import { publishBy, type Outcome, type Publication } from './exec.js';

interface Flags {
  readonly accountId?: string;
  readonly exec?: string;
  readonly count?: string;
  readonly json?: boolean;
}

/** For what is told after Ctrl-C. */
const LAST_MS = 5_000;
/** Publications whose end is remembered: what is offered again has been published by then. */
const REMEMBERED = 1_000;

/** Takes what sessions publish, as an adapter without an address does. */
export function addConnect(extmsg: Command, io: Io): void {
  const connect = cityCommand(extmsg, 'connect', 'take what sessions publish, until Ctrl-C: what is printed counts as published')
    .argument('[provider]', 'slack, discord, telegram …; the token of an adapter says it itself')
    .option('--account-id <id>', 'the account that the adapter speaks for (default: default)')
    .option(
      '--exec <command>',
      'have a shell command publish each: JSON on its input, the id of the message on its output; exit 75 for later',
    )
    .option('--count <n>', 'end after so many')
    .option('--json', 'print one JSON line for each');
  withExamples(
    connect,
    'svc extmsg adapter add chat --stream',
    'svc extmsg connect chat',
    "svc extmsg connect chat --exec 'jq -r .text | wall'",
  );
  connect.action(async (provider: string | undefined, _options, action: Command) => {
    const { api, city, flags } = await cityContextOf<Flags>(action, io);
    const account = provider === undefined ? flags.accountId : (flags.accountId ?? 'default');
    const most = flags.count === undefined ? Infinity : numberOf('--count', flags.count);
    const enough = new AbortController();
    const signal = AbortSignal.any([io.signal, enough.signal]);
    const known = new Map<string, Promise<Outcome>>();
    const works = new Set<Promise<void>>();
    let done = 0;
    let failure: { readonly error: unknown } | undefined;
    const take = async (publication: Publication): Promise<void> => {
      const before = known.get(publication.id);
      const outcome = before ?? publish(publication, flags, io);
      known.set(publication.id, outcome);
      if (known.size > REMEMBERED) known.delete(known.keys().next().value!);
      const result = await outcome;
      // What is to be tried again is tried again.
      if (!result.delivered) known.delete(publication.id);
      if (!(await acknowledge(api, city, publication, result, io))) return;
      if (!result.delivered) io.err(`${plain(`${publication.id} is not published: ${result.error ?? ''}`)}\n`);
      else if (++done >= most) enough.abort();
    };
    const params = { path: { cityName: city }, query: defined({ provider, account_id: account }) };
    const open = (lastEventId: string | undefined): ReturnType<OpenStream> => {
      const header = defined({ 'Last-Event-ID': lastEventId });
      return api.client.open('/v0/city/{cityName}/extmsg/publications/stream', { ...params, header, signal });
    };
    const pauses = pausesTold((text) => io.err(`${text}\n`));
    const failed = (error: unknown): void => {
      failure ??= { error };
      enough.abort();
    };
    // What is told of commands is a report: they publish also where nobody reads it any more.
    io.finishes = flags.exec !== undefined;
    try {
      for await (const { event, data, id } of telling(api, followFrames(open, { signal, ...pauses }))) {
        if (event !== 'publication') continue;
        const work = take(objectOf(data, event, id) as Publication)
          .catch(failed)
          .finally(() => works.delete(work));
        works.add(work);
        if (flags.exec === undefined) await work;
      }
    } finally {
      // However this ends: what is being published is, and is acknowledged.
      await Promise.all(works);
    }
    if (failure !== undefined) throw failure.error;
    if (io.signal.aborted) throw new InterruptedError();
  });
}

async function publish(publication: Publication, { exec, json }: Flags, io: Io): Promise<Outcome> {
  const { conversation, session_id: session, text, id } = publication;
  await io.out(json === true ? `${JSON.stringify(publication)}\n` : `${plain(`${shown(conversation)} ${session}`)}: ${harmless(text)}\n`);
  return exec === undefined ? { delivered: true, message_id: id } : publishBy(exec, publication, io);
}

/** False when it is not known to have arrived: it is offered again, or is another's. Whoever stops waits for it, for a moment. */
async function acknowledge(api: Api, city: string, { id, claim }: Publication, outcome: Outcome, io: Io): Promise<boolean> {
  const params = { path: { cityName: city, id } };
  const late = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const hurry = (): void => void (timer = setTimeout(() => late.abort(), LAST_MS));
  if (io.signal.aborted) hurry();
  else io.signal.addEventListener('abort', hurry, { once: true });
  try {
    await ask({ ...api, signal: late.signal }, (signal) =>
      api.http.POST('/v0/city/{cityName}/extmsg/publication/{id}/ack', { params, body: { claim, ...outcome }, signal }),
    );
    return true;
  } catch (error) {
    if (!(error instanceof ApiError || error instanceof UnreachableError || error instanceof CliError)) throw error;
    const why = error instanceof InterruptedError ? 'nobody has answered' : error.message;
    io.err(`${plain(`${id} could not be acknowledged: ${why}`)}\n`);
    return false;
  } finally {
    io.signal.removeEventListener('abort', hurry);
    clearTimeout(timer);
  }
}
