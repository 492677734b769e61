import type { LoggedEvent, Schemas } from '../api/types.js';
import { visible } from './text.js';

type Letter = Schemas['Message'];
export type ThreadPage = Pick<Schemas['MailListBody'], 'items' | 'next_cursor'>;

export interface Thread {
  /** The oldest first. */
  readonly letters: readonly Letter[];
  /** Older ones that are left out. */
  readonly left: number;
  /** There are later ones, which were not read. */
  readonly more: boolean;
}

/** What is drawn of a thread at the most, and how much is read to get to its end: a page has 2 MiB. */
const LETTERS = 500;
const LENGTH = 4 * 1024 * 1024;
const PAGES = 20;

/** The end of a thread: pages begin with its oldest letters, and the newest is the one that somebody has to read. */
export async function readThread(read: (cursor: string | undefined) => Promise<ThreadPage>): Promise<Thread> {
  const letters: Letter[] = [];
  let left = 0;
  let length = 0;
  let cursor: string | undefined;
  for (let page = 0; page < PAGES; page++) {
    const { items, next_cursor: next } = await read(cursor);
    for (const letter of items ?? []) {
      letters.push(letter);
      length += letter.body.length;
    }
    while (letters.length > LETTERS || (length > LENGTH && letters.length > 1)) {
      length -= letters.shift()!.body.length;
      left += 1;
    }
    cursor = next;
    if (cursor === undefined) break;
  }
  return { letters: letters.sort((a, b) => a.created_at.localeCompare(b.created_at)), left, more: cursor !== undefined };
}

/** With one that the list has and the thread does not: an older one that was left out, or one that is archived. */
export function withKnown(thread: Thread, known: Letter | undefined): Thread {
  if (known === undefined || thread.letters.some(({ id }) => id === known.id)) return thread;
  return { ...thread, letters: [...thread.letters, known].sort((a, b) => a.created_at.localeCompare(b.created_at)) };
}

/** Whether an event may change a thread: a long one is many reads, and most mail of a city is of others. */
export function isOfThread({ type, payload }: LoggedEvent, thread: string | undefined): boolean {
  if (!type.startsWith('mail.')) return false;
  const of = (payload as { readonly message?: { readonly thread_id?: string } }).message?.thread_id;
  return of === undefined || thread === undefined || of === thread;
}

const isToPeople = ({ to, cc }: Letter): boolean => to === 'human' || cc?.includes('human') === true;

const othersOf = (letters: readonly Letter[], me: string | undefined): readonly Letter[] =>
  letters.filter(({ from }) => from !== me && from !== 'human');

/**
 * The letter that a reply answers: the one that was opened, or the newest to people, or else the newest of somebody else. One's own is none: a reply to
 * it would go to oneself, or to nobody. Nor is one whose sender has no mailbox. Undefined where there is none, or where a later one may not have been read.
 * @param me how the service names whoever replies.
 */
export function answeredOf({ letters, more }: Thread, opened: string, me: string | undefined): Letter | undefined {
  const others = othersOf(letters, me).filter(({ answerable }) => answerable !== false);
  const one = others.find(({ id }) => id === opened);
  if (one !== undefined || more) return one;
  return others.findLast(isToPeople) ?? others.at(-1);
}

/** Why there is none to answer. @param opened the id of the one that was opened */
export function whyNoAnswer({ letters, more }: Thread, opened: string, me: string | undefined): string {
  const others = othersOf(letters, me);
  const mute = others.find(({ id }) => id === opened) ?? (more ? undefined : others.at(-1));
  if (mute?.answerable === false) return `${visible(mute.from)} has no mailbox: nobody would read an answer.`;
  return more ? 'Open the message in the list to answer it.' : 'Nobody else has written in it: there is nobody to answer.';
}
