import type { Located } from './run.js';

/** Whose files they are: the city's own or those of a pack. The path is the folder that holds the convention folders. */
export interface Home extends Located {
  /** What the pack calls itself, '' for the city. */
  readonly pack: string;
}
