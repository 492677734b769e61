type Press = Pick<KeyboardEvent, 'key' | 'repeat'>;

/** Whether a press does what is bound to its key. One that is held down walks, and decides nothing: what it would decide next was never read. */
export const isMeant = ({ repeat }: Press, { repeats }: { readonly repeats?: boolean }): boolean => !repeat || repeats === true;

/** @param enters Enter does something by itself where the focus is: a browser does it again for as long as the key is held down. */
export const isEnteredAgain = ({ key, repeat }: Press, enters: boolean): boolean => repeat && key === 'Enter' && enters;

const READ_MS = 500;

/** Whether a second press follows its first one so soon that nobody has read why there is a second one. */
export const isTooSoon = (first: number, now: number): boolean => now - first < READ_MS;
