import type { Command } from 'commander';
import { ask, type Api, type Schemas } from '../api.js';
import { Progress } from '../cities/progress.js';
import { cityCommand, cityContextOf, collect, keyHeader, printJson, withExamples, withKey } from '../command.js';
import { awaitEnding, tellEnding } from '../ending.js';
import type { Io } from '../io.js';
import { defined, numberOf, textOf } from '../values.js';

interface WriteFlags {
  readonly subject?: string;
  readonly body?: string;
  readonly bodyFile?: string;
  readonly from?: string;
  readonly to?: readonly string[];
  readonly cc?: readonly string[];
  readonly priority?: string;
  readonly rig?: string;
  readonly idempotencyKey?: string;
  readonly json?: boolean;
}

const withBody = (command: Command): Command =>
  withKey(
    command
      .option('-m, --body <text>', 'the text')
      .option('--body-file <path>', 'read the text from this file; - is stdin')
      .option('--from <who>', 'the sender (SVC_AGENT; default who the API key belongs to)'),
  );

export function addWrites(mail: Command, io: Io): void {
  addSend(mail, io);
  addBroadcast(mail, io);
  addReply(mail, io);
}

/** What every message has. */
async function content(flags: WriteFlags, io: Io): Promise<{ from?: string; body?: string }> {
  return defined({ from: flags.from ?? (io.env.SVC_AGENT || undefined), body: await textOf('body', flags.body, flags.bodyFile, io) });
}

const extras = (flags: WriteFlags): { priority?: number; rig?: string } =>
  defined({ priority: flags.priority === undefined ? undefined : numberOf('--priority', flags.priority), rig: flags.rig });

function addSend(mail: Command, io: Io): void {
  const send = cityCommand(mail, 'send', 'send a message and print its id')
    .argument('<to>', 'an agent, a session, or `human`')
    .requiredOption('--subject <text>', 'what it is about')
    .option('--cc <who>', 'send this one a copy; repeatable', collect)
    .option('--priority <n>', '0 (highest) to 4')
    .option('--rig <rig>', 'tag it with this rig')
    .option('--json', 'print the message as one JSON line');
  withBody(send);
  withExamples(
    send,
    'svc mail send worker --subject "Please look at al-12" --body "It fails since noon."',
    'svc mail send human --subject Report --body-file report.md --from worker',
  );
  send.action(async (to: string, _options, action: Command) => {
    const { api, city, flags } = await cityContextOf<WriteFlags>(action, io);
    const body = {
      to,
      subject: flags.subject ?? '',
      ...(await content(flags, io)),
      ...extras(flags),
      ...(flags.cc === undefined ? {} : { cc: [...flags.cc] }),
    };
    const params = { path: { cityName: city }, header: keyHeader(flags) };
    const { data } = await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/mail', { params, body, signal }));
    return flags.json === true ? printJson(io, data) : io.out(`${data.id}\n`);
  });
}

function addBroadcast(mail: Command, io: Io): void {
  const broadcast = cityCommand(mail, 'broadcast', 'send one message each to many, by default to every agent; all of them or none')
    .requiredOption('--subject <text>', 'what it is about')
    .option('--to <who>', 'only to this one; repeatable', collect)
    .option('--priority <n>', '0 (highest) to 4')
    .option('--rig <rig>', 'tag it with this rig')
    .option('--json', 'print one JSON line for each message, or to more than 200 the one event that ends it');
  withBody(broadcast);
  withExamples(
    broadcast,
    'svc mail broadcast --subject "Freeze at noon" --body "Nothing is merged after 12:00."',
    'svc mail broadcast --to worker --to mayor --subject Plan --body-file -',
  );
  broadcast.action(async (_options, action: Command) => {
    const { api, city, flags } = await cityContextOf<WriteFlags>(action, io);
    const body = {
      subject: flags.subject ?? '',
      ...(await content(flags, io)),
      ...extras(flags),
      ...(flags.to === undefined ? {} : { to: [...flags.to] }),
    };
    const params = { path: { cityName: city }, header: keyHeader(flags) };
    const { data } = await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/mail/broadcast', { params, body, signal }));
    const { request_id, event_cursor } = data;
    if (request_id !== undefined && event_cursor !== undefined)
      return goesOn(api, io, { city, total: data.total, accepted: { request_id, event_cursor }, flags });
    const messages = data.items ?? [];
    if (flags.json === true) return io.out(messages.map((message) => `${JSON.stringify(message)}\n`).join(''));
    return io.out(messages.map((message) => `${message.id} to ${message.to}\n`).join(''));
  });
}

interface GoingOn {
  readonly city: string;
  readonly total: number;
  readonly accepted: { readonly request_id: string; readonly event_cursor: string };
  readonly flags: WriteFlags;
}

/** One to many is sent in the background: its end is awaited. */
async function goesOn(api: Api, io: Io, { city, total, accepted, flags }: GoingOn): Promise<void> {
  const progress = new Progress(io, `sending to ${total}`, flags.json === true);
  try {
    const ending = await awaitEnding(api, { accepted, operation: 'mail.broadcast', city, timeoutMs: undefined, progress });
    progress.end();
    await tellEnding(io, flags, ending, (payload) => `sent to ${(payload as Schemas['MailBroadcastSucceededPayload']).sent}`);
  } finally {
    progress.end();
  }
}

function addReply(mail: Command, io: Io): void {
  const reply = cityCommand(mail, 'reply', 'answer a message in its thread and print the id of the answer')
    .argument('<id>', 'the message that is answered')
    .option('--subject <text>', 'another subject (default: `Re:` and the old one)')
    .option('--json', 'print the message as one JSON line');
  withBody(reply);
  withExamples(reply, 'svc mail reply al-14 -m "Done."');
  reply.action(async (id: string, _options, action: Command) => {
    const { api, city, flags } = await cityContextOf<WriteFlags>(action, io);
    const body = { ...(await content(flags, io)), ...(flags.subject === undefined ? {} : { subject: flags.subject }) };
    const params = { path: { cityName: city, id }, header: keyHeader(flags) };
    const { data } = await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/mail/{id}/reply', { params, body, signal }));
    return flags.json === true ? printJson(io, data) : io.out(`${data.id}\n`);
  });
}
