/** A body that already is JSON text (made by Postgres, say): sent as it is, without parsing and serialising it again. */
export class JsonText {
  constructor(readonly text: string) {}
}
