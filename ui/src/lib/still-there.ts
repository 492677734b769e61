interface Now {
  readonly address: string;
  /** What was asked with is there. */
  readonly shown: boolean;
  /** A dialog is open. */
  readonly writing: boolean;
}

/** Whether nobody has gone on to something else since: a dialog that has closed was left, once there is another one in its place. */
export const isStillThere = (asked: string, { address, shown, writing }: Now): boolean => address === asked && (shown || !writing);
