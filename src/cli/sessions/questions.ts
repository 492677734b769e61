import { setTimeout as sleep } from 'node:timers/promises';
import { ask, failing, type Api } from '../api.js';
import type { Progress } from '../cities/progress.js';
import { respondCommand } from './answers.js';
import type { Question } from '../../client/turns.js';
import { harmlessLine } from '../harmless.js';

const POLL_MS = 1_000;
const PAGE = 500;

/** What one session asks people now, the oldest first. */
export function questionsOf(api: Api, path: { readonly cityName: string; readonly id: string }): Promise<readonly Question[]> {
  return api.client.session(path.cityName, path.id).questions(api.signal).catch(failing(api));
}

/** What sessions of a city ask, by session; of one that asks several things the oldest. */
export async function asked(api: Api, cityName: string): Promise<{ readonly total: number; readonly of: ReadonlyMap<string, Question> }> {
  const params = { path: { cityName }, query: { limit: PAGE } };
  const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/pending', { params, signal }));
  const of = new Map<string, Question>();
  for (const question of data.items ?? []) if (!of.has(question.session_id)) of.set(question.session_id, question);
  return { total: data.total, of };
}

/** In one line: what is asked, and how it is answered. */
export function questionLine(session: string, question: Question): string {
  return `${harmlessLine(question.prompt ?? question.kind)}; answer with: ${respondCommand(session, question)}`;
}

/**
 * Tells somebody who waits for a session what it asks meanwhile, each question once, until the signal. Never fails: what is wrong with
 * the connection, or with the session, is told by whoever waits.
 */
export async function tellQuestions(
  api: Api,
  of: { readonly city: string; readonly session: string; readonly progress: Progress },
  signal: AbortSignal,
): Promise<void> {
  const told = new Set<string>();
  for (;;) {
    // At first, too: what a message makes a session ask comes after the word that it was delivered.
    await sleep(POLL_MS, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    const open = await questionsOf({ ...api, signal }, { cityName: of.city, id: of.session }).catch(() => []);
    for (const question of signal.aborted ? [] : open) {
      if (told.has(question.request_id)) continue;
      told.add(question.request_id);
      of.progress.tell(`it asks: ${questionLine(of.session, question)}`);
    }
  }
}
