/** A running city that a request may work in; every per-city query takes it. */
export interface CityScope {
  readonly id: number;
  readonly name: string;
  /** The city's directory. */
  readonly path: string;
  /** The name of its event stream. */
  readonly stream: string;
  readonly streamId: number;
}
