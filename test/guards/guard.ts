/** A place of the product that protects something, and the test that fails when it is taken out. */
export interface Guard {
  /** What it protects. */
  readonly guard: string;
  readonly file: string;
  /** Stands exactly once in the file. */
  readonly find: string;
  readonly replace: string;
  /** The test file that finds it. */
  readonly test: string;
  /** Part of the name of its test, where the file is slow. */
  readonly name?: string;
  /** Why no test fails without it; it is listed and not tried. */
  readonly unproven?: string;
}
