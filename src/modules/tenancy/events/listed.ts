/** A list ready to be sent; `items` are the JSON texts that Postgres made. */
export interface Listed {
  readonly items: readonly string[];
  readonly next: string | undefined;
  readonly total: number;
  readonly estimated: boolean;
}
