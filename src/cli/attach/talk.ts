import { ask, failing, type Api, type Schemas } from '../api.js';
import { CliError } from '../errors.js';
import { answerOf, quoted } from '../sessions/answers.js';
import { messageTable, sessionDetails } from '../sessions/view.js';
import { because } from '../why/why-lines.js';
import { sessionReasons } from '../why/why-session.js';
import type { Io } from '../io.js';
import type { Question } from '../../client/turns.js';

export interface TalkOptions {
  readonly api: Api;
  readonly city: string;
  /** As it was named; the id once it is known. */
  readonly session: string;
  /** How tables are shown. */
  readonly size: Pick<Io, 'width' | 'colour'>;
  /** Shows lines that are no part of the conversation. */
  readonly say: (text: string) => void;
  /** The same, a line that is marked. */
  readonly note: (text: string) => void;
  readonly leave: () => void;
  /** A message was accepted. */
  readonly sent: (accepted: Schemas['AsyncAcceptedBody']) => void;
}

const QUEUED = ['queued', 'in_flight'];
/** The service answers once the turn has ended, and has the wish long before. */
const STOP_MS = 1_500;

interface Verb {
  readonly usage: string;
  readonly about: string;
  /** How long whoever leaves waits for it, where it delivers nothing to the session. */
  readonly leavingMs?: number;
  readonly run: (talk: Talk, rest: string, question: Question | undefined) => unknown;
}

const VERBS: Readonly<Record<string, Verb>> = {
  answer: {
    usage: '/answer N [text]',
    about: 'answer the question: the number or the word of a choice',
    run: (talk, rest, question) => talk.answer(rest, question),
  },
  stop: {
    usage: '/stop',
    about: 'end the turn that is under way; so does Ctrl-C',
    leavingMs: STOP_MS,
    run: (talk) => talk.stop(),
  },
  now: { usage: '/now text', about: 'end the turn and say this at once', run: (talk, rest) => talk.send(rest, 'interrupt_now') },
  queue: { usage: '/queue', about: 'the messages that wait', leavingMs: 0, run: (talk) => talk.queue() },
  cancel: { usage: '/cancel ID', about: 'take one of them back', run: (talk, rest) => talk.cancel(rest) },
  why: { usage: '/why', about: 'how the session is, and what it waits for', leavingMs: 0, run: (talk) => talk.why() },
  detach: {
    usage: '/detach',
    about: 'leave it to itself; so do Ctrl-D and Ctrl-P Ctrl-Q',
    leavingMs: 0,
    run: (talk) => talk.options.leave(),
  },
  help: { usage: '/help', about: 'this', leavingMs: 0, run: (talk) => talk.options.say(HELP) },
};

const HELP = [
  ...Object.values(VERBS).map(({ usage, about }) => `  ${usage.padEnd(18)}${about}`),
  `  ${'//text'.padEnd(18)}say something that begins with a slash`,
  `  ${'Enter'.padEnd(18)}sends what is typed; Alt-Enter and Ctrl-J begin another line, the arrows bring back what was sent`,
  '',
].join('\n');

/** The command that a line is; undefined of what is said. */
function commandOf(text: string): { readonly word: string; readonly rest: string; readonly verb: Verb | undefined } | undefined {
  const [, word, rest = ''] = /^\/([a-z]+)(?:\s+(.*))?$/s.exec(text) ?? [];
  return word === undefined ? undefined : { word, rest: rest.trim(), verb: Object.hasOwn(VERBS, word) ? VERBS[word] : undefined };
}

/** How long whoever leaves waits for what this line does; undefined of what delivers something: until it is done. */
export const leavingMs = (text: string): number | undefined => commandOf(text)?.verb?.leavingMs;

/** What a person says to a session, and does with it. @throws CliError for what is refused */
export class Talk {
  constructor(readonly options: TalkOptions) {}

  /** A line that a person has ended: a command, an answer to what was asked when it was typed, or a message. */
  async typed(text: string, question: Question | undefined): Promise<void> {
    if (text.startsWith('//')) return this.send(text.slice(1));
    const command = commandOf(text);
    if (command !== undefined) {
      const { word, rest, verb } = command;
      if (verb === undefined) throw new CliError(`there is no /${word}: /help has the list, and //${word} says it to the agent`);
      await verb.run(this, rest, question);
      return;
    }
    return question === undefined ? this.send(text) : this.answer(text, question);
  }

  async send(text: string, intent?: 'interrupt_now'): Promise<void> {
    if (text.trim() === '') throw new CliError('the message is empty');
    const { api, sent, session } = this.options;
    const { client, signal } = api;
    const common = { path: this.#path, signal };
    const accepted =
      intent === undefined
        ? client.post('/v0/city/{cityName}/session/{id}/messages', { ...common, body: { message: text } })
        : client.post('/v0/city/{cityName}/session/{id}/submit', { ...common, body: { message: text, intent } });
    try {
      sent(await accepted.catch(failing(api)));
    } catch (error) {
      // Whoever says the same once more may mean it twice: it is another message.
      if (error instanceof CliError && error.sentKey !== undefined)
        error.message += `; look with \`svc session messages ${quoted(session)}\` before you say it again`;
      throw error;
    }
  }

  async answer(text: string, question: Question | undefined): Promise<void> {
    if (question === undefined) throw new CliError('nothing is asked now');
    const answer = answerOf(question, text);
    if (answer === undefined) throw new CliError('say which: /answer N');
    const { api, city, session } = this.options;
    await api.client.session(city, session).respond(answer).catch(failing(api));
  }

  async stop(): Promise<void> {
    const params = { path: this.#path };
    const { api, note } = this.options;
    // The answer comes once it has ended.
    note('the turn is to end');
    await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/session/{id}/stop', { params, signal }));
  }

  async queue(): Promise<void> {
    const { api, size, note, say } = this.options;
    const params = { path: this.#path, query: { status: QUEUED, limit: 100 } };
    const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/session/{id}/messages', { params, signal }));
    if (data.items.length === 0) return note('no message waits');
    say(messageTable(data.items, size));
  }

  async cancel(id: string): Promise<void> {
    if (!/^[\w-]{1,64}$/.test(id)) throw new CliError('say which: /cancel ID, as /queue shows it');
    const { api } = this.options;
    const params = { path: { ...this.#path, messageId: id } };
    await ask(api, (signal) => api.http.DELETE('/v0/city/{cityName}/session/{id}/messages/{messageId}', { params, signal }));
    this.options.note(`${id} is cancelled`);
  }

  async why(): Promise<void> {
    const { api, city, say } = this.options;
    const params = { path: this.#path };
    const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/session/{id}', { params, signal }));
    say(sessionDetails(data) + because(await sessionReasons(api, city, data)));
  }

  get #path(): { readonly cityName: string; readonly id: string } {
    return { cityName: this.options.city, id: this.options.session };
  }
}
