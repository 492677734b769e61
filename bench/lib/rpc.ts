/** Calls between the bench and the programs it starts, over Node's own channel between parent and child. */
export interface Call {
  readonly id: number;
  readonly method: string;
  readonly params: unknown;
}

export interface Answer {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: string;
}

type Handler = (params: never) => unknown;

/** The child's side. A child whose parent has gone ends itself. */
export function serve(handlers: Readonly<Record<string, Handler>>): void {
  const send = (answer: Answer): void => void process.send?.(answer);
  process.on('message', (call: Call) => {
    Promise.resolve()
      .then(() => handlers[call.method]!(call.params as never))
      .then(
        (result) => send({ id: call.id, result }),
        (error: unknown) => send({ id: call.id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
      );
  });
  process.on('disconnect', () => process.exit(0));
  send({ id: 0 });
}
