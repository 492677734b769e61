/** What a thread is asked to do. */
export interface JobMessage {
  readonly kind: 'job';
  /** URL of the module that exports the task, and the name under which it does. */
  readonly module: string;
  readonly name: string;
  readonly input: unknown;
}

/** Answers to what a task has asked for. Without a value the asking failed, and the whole job with it. */
export interface AnswersMessage {
  readonly kind: 'answers';
  readonly answers: readonly { readonly id: number; readonly value?: unknown; readonly failed?: true }[];
}

export interface Call {
  readonly id: number;
  readonly name: string;
  readonly args: readonly unknown[];
}

export type FromThread =
  /** The module is loaded: what follows is the work of the task itself. */
  | { readonly kind: 'begun' }
  | { readonly kind: 'calls'; readonly calls: readonly Call[] }
  /** `heapMiB` is what the thread holds now. */
  | { readonly kind: 'done'; readonly value: unknown; readonly heapMiB: number }
  | { readonly kind: 'failed'; readonly message: string; readonly stack: string | undefined };

export type ToThread = JobMessage | AnswersMessage;

/** What a task may ask its process for, by name. Arguments and answers are copied. */
export type Ask = (name: string, ...args: readonly unknown[]) => Promise<unknown>;
export type Answerers = Readonly<Record<string, (...args: never[]) => Promise<unknown>>>;
