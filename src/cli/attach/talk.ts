import { ask, failing, type Api, type Schemas } from '../api.js';
import { CliError } from '../errors.js';
import { answerOf } from '../sessions/answers.js';
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

interface Verb {
  readonly usage: string;
  readonly about: string;
  readonly run: (talk: Talk, rest: string, question: Question | undefined) => unknown;
}

const VERBS: Readonly<Record<string, Verb>> = {
  answer: {
    usage: '/answer N [text]',
    about: 'answer the question: the number or the word of a choice',
    run: (talk, rest, question) => talk.answer(rest, question),
  },
  stop: { usage: '/stop', about: 'end the turn that is under way; so does Ctrl-C', run: (talk) => talk.stop() },
  now: { usage: '/now text', about: 'end the turn and say this at once', run: (talk, rest) => talk.send(rest, 'interrupt_now') },
  queue: { usage: '/queue', about: 'the messages that wait', run: (talk) => talk.queue() },
  cancel: { usage: '/cancel ID', about: 'take one of them back', run: (talk, rest) => talk.cancel(rest) },
  why: { usage: '/why', about: 'how the session is, and what it waits for', run: (talk) => talk.why() },
  detach: { usage: '/detach', about: 'leave it to itself; so do Ctrl-D and Ctrl-P Ctrl-Q', run: (talk) => talk.options.leave() },
  help: { usage: '/help', about: 'this', run: (talk) => talk.options.say(HELP) },
};

const HELP = [
  ...Object.values(VERBS).map(({ usage, about }) => `  ${usage.padEnd(18)}${about}`),
  `  ${'//text'.padEnd(18)}say something that begins with a slash`,
  `  ${'Enter'.padEnd(18)}sends what is typed; Alt-Enter and Ctrl-J begin another line, the arrows bring back what was sent`,
  '',
].join('\n');

/** What a person says to a session, and does with it. @throws CliError for what is refused */
export class Talk {
  /** What was said last, when nobody knows whether it has arrived: said again right after, it is the same message. */
  #unsure: { readonly said: string; readonly key: string } | undefined;

  constructor(readonly options: TalkOptions) {}

  /** A line that a person has ended: a command, an answer to what was asked when it was typed, or a message. */
  async typed(text: string, question: Question | undefined): Promise<void> {
    const [, slash, word, rest = ''] = /^(\/)([a-z]+)(?:\s+(.*))?$/s.exec(text) ?? [];
    if (text.startsWith('//')) return this.send(text.slice(1));
    if (slash !== undefined) {
      const verb = Object.hasOwn(VERBS, word!) ? VERBS[word!] : undefined;
      if (verb === undefined) throw new CliError(`there is no /${word!}: /help has the list, and //${word!} says it to the agent`);
      await verb.run(this, rest.trim(), question);
      return;
    }
    return question === undefined ? this.send(text) : this.answer(text, question);
  }

  async send(text: string, intent?: 'interrupt_now'): Promise<void> {
    if (text.trim() === '') throw new CliError('the message is empty');
    const { api, sent } = this.options;
    const { client, signal } = api;
    const said = JSON.stringify([text, intent]);
    const common = { path: this.#path, signal, idempotencyKey: this.#unsure?.said === said ? this.#unsure.key : undefined };
    this.#unsure = undefined;
    const accepted =
      intent === undefined
        ? client.post('/v0/city/{cityName}/session/{id}/messages', { ...common, body: { message: text } })
        : client.post('/v0/city/{cityName}/session/{id}/submit', { ...common, body: { message: text, intent } });
    try {
      sent(await accepted.catch(failing(api)));
    } catch (error) {
      if (!(error instanceof CliError) || error.sentKey === undefined) throw error;
      this.#unsure = { said, key: error.sentKey };
      error.message += '; say the same again, and it arrives once';
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
