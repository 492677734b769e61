import type { Command } from 'commander';
import { ask, type Api } from '../api.js';
import { cityCommand, cityContextOf, contextOf, flagsOf, keyHeader, pathOf, withExamples, withKey } from '../command.js';
import { nameOf, told } from '../edits.js';
import { harmlessLine } from '../harmless.js';
import { ApiError, CliError, sentAs } from '../errors.js';
import type { Io } from '../io.js';
import { list, withLimit, type ListFlags } from '../listing.js';
import { table } from '../table.js';
import { age } from '../duration.js';
import { defined } from '../values.js';
import { answerOf, quoted } from './answers.js';
import type { Question } from '../../client/turns.js';
import { questionsOf } from './questions.js';

interface Flags {
  readonly request?: string;
  readonly text?: string;
  readonly idempotencyKey?: string;
  readonly json?: boolean;
}

export function addRespond(session: Command, io: Io): void {
  addPending(session, io);
  const respond = cityCommand(session, 'respond', 'answer what a session asks; the first answer counts')
    .argument('<session>', 'the session: an id, a name or an alias')
    .argument('<answer>', 'the number or the word of a choice, or approve, approve_always, deny')
    .option('--request <id>', 'the question that is answered (default: the only one)')
    .option('--text <text>', 'what to say with it')
    .option('--json', 'print the answer as one JSON line');
  withKey(respond);
  withExamples(
    respond,
    'svc session respond al-7 approve',
    'svc session respond al-7 2',
    'svc session respond al-7 deny --text "Use the other file."',
  );
  respond.action(async (name: string, answer: string, _options, action: Command) => {
    const context = await cityContextOf<Flags>(action, io);
    const { api, city, flags } = context;
    const path = { cityName: city, id: nameOf('a session', name) };
    const chosen = /^\d+$/.test(answer) ? await numbered(api, path, answer, flags) : { action: answer };
    const body = { ...chosen, ...defined({ request_id: flags.request, text: flags.text }) };
    const params = { path, header: keyHeader(flags) };
    // Once it is answered no number means anything any more.
    const words = 'request_id' in chosen ? `${quoted(body.action)} --request ${quoted(chosen.request_id)}` : undefined;
    const { data } = await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/session/{id}/respond', { params, body, signal }))
      .catch(meantBefore(answer, body.action))
      .catch(sentAs(words));
    await told(context, name, data, `is answered: ${body.action}`);
  });
}

/** A number is sent as the choice that it stands for, which is known as long as the question is open, and then as it is. */
function meantBefore(answer: string, sent: string): (error: unknown) => never {
  return (error) => {
    const isNumber = sent === answer && /^\d+$/.test(answer);
    if (!isNumber || !(error instanceof ApiError) || error.code !== 'idempotency-mismatch') throw error;
    throw error.saying(`${error.message}; a number means nothing any more: give the choice's id`);
  };
}

interface Path {
  readonly cityName: string;
  readonly id: string;
}

/** The choice with this number; it is for the question that was looked at. @throws CliError */
async function numbered(
  api: Api,
  path: Path,
  answer: string,
  { request, idempotencyKey }: Flags,
): Promise<{ action: string; request_id: string }> {
  const open = await questionsOf(api, path);
  const question = request === undefined ? open[0] : open.find(({ request_id: id }) => id === request);
  // What is repeated under its key may have been answered by it.
  if (question === undefined && request !== undefined && idempotencyKey !== undefined) return { action: answer, request_id: request };
  if (question === undefined) throw new CliError(`${path.id} asks nothing${request === undefined ? '' : ` under ${request}`} now`);
  if (request === undefined && open.length > 1) throw new CliError(`${path.id} asks ${open.length} things: say which with --request`);
  const { choices = [] } = question;
  const isOffered = choices[Number(answer) - 1] !== undefined || choices.some(({ id, label }) => id === answer || label === answer);
  if (choices.length > 0 && !isOffered) throw new CliError(`${path.id} does not offer ${answer}: it offers ${choicesOf(question)}`);
  const body = answerOf(question, answer)!;
  return { action: body.action, request_id: question.request_id };
}

/** `1 Allow, 2 Always allow, 3 Deny`: the numbers that answer it. */
const choicesOf = ({ choices = [] }: Question): string => choices.map(({ label }, i) => `${i + 1} ${harmlessLine(label)}`).join(', ');

type Asked = Question & { readonly session_id?: string; readonly alias?: string; readonly city?: string };

function addPending(session: Command, io: Io): void {
  const pending = withLimit(
    cityCommand(session, 'pending', 'list what sessions ask people, the oldest first').argument('[session]', 'only of this session'),
  ).option('--all-cities', 'what is asked in every city');
  withExamples(pending, 'svc session pending', 'svc session pending al-7 --json', 'svc session pending --all-cities');
  pending.action(async (name: string | undefined, _options, action: Command) => {
    const everywhere = flagsOf<{ allCities?: boolean }>(action).allCities === true;
    if (everywhere && name !== undefined) throw new CliError('--all-cities and a session are mutually exclusive');
    const context = everywhere
      ? { ...contextOf(action, io), city: '', flags: flagsOf<ListFlags>(action), path: pathOf(action) }
      : await cityContextOf<ListFlags>(action, io);
    const { api, city } = context;
    const path = { cityName: city };
    await list<Asked>(context, {
      plural: 'questions',
      empty: 'nobody waits for an answer',
      show: (questions) => {
        const rows = questions.map((q) => [
          ...(everywhere ? [q.city ?? ''] : []),
          q.session_id ?? name ?? '',
          q.request_id,
          choicesOf(q),
          q.opened_at === undefined ? '' : age(q.opened_at),
          q.prompt ?? q.kind,
        ]);
        return table([...(everywhere ? ['CITY'] : []), 'SESSION', 'REQUEST', 'CHOICES', 'AGE', 'QUESTION'], rows, io);
      },
      page: async (page) => {
        if (name !== undefined) return { items: await questionsOf(api, { ...path, id: nameOf('a session', name) }) };
        if (everywhere) return (await ask(api, (signal) => api.http.GET('/v0/pending', { params: { query: page }, signal }))).data;
        const params = { path, query: page };
        return (await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/pending', { params, signal }))).data;
      },
    });
  });
}
