import { api, type Reply } from './http.js';
import { openStream, type OpenStream } from './sse.js';

/** What a client is given. */
export interface Given {
  readonly id: string;
  readonly claim: string;
  readonly attempt: number;
  readonly text: string;
  readonly idempotency_key: string;
  readonly conversation: { readonly conversation_id: string };
}

/** A client of an adapter that has no address: a stream of publications at one replica. It acknowledges where it is told to. */
export class ExtmsgClient {
  private constructor(
    readonly stream: OpenStream,
    private readonly headers: Readonly<Record<string, string>>,
  ) {}

  /** @param url of a replica @param token of the adapter */
  static async connect(
    url: string,
    token: string,
    { after, query = '', city = 'alpha' }: { after?: string | undefined; query?: string; city?: string } = {},
  ): Promise<ExtmsgClient> {
    const headers = { Authorization: `Bearer ${token}` };
    const resumed: Record<string, string> = after === undefined ? {} : { 'Last-Event-ID': after };
    const path = `/v0/city/${city}/extmsg/publications/stream${query}`;
    return new ExtmsgClient(await openStream(url + path, { headers: { ...headers, 'X-SVC-Request': 'test', ...resumed } }), headers);
  }

  get status(): number {
    return this.stream.response.status;
  }

  get given(): Given[] {
    return this.stream.frames.filter(({ event }) => event === 'publication').map(({ data }) => data as Given);
  }

  get last(): string | undefined {
    return this.stream.frames.findLast(({ id }) => id !== undefined)?.id;
  }

  /** The first that fits, once it is there. */
  async until(fits: (given: Given) => boolean): Promise<Given> {
    return (await this.stream.until(({ event, data }) => event === 'publication' && fits(data as Given))).data as Given;
  }

  /** Once so many have come. */
  async untilGiven(count: number): Promise<Given[]> {
    await this.stream.untilAll(() => this.given.length >= count);
    return this.given;
  }

  ack(url: string, { id, claim }: Given, more: object = { delivered: true }, city = 'alpha'): Promise<Reply> {
    return api(url, this.headers).post(`/v0/city/${city}/extmsg/publication/${id}/ack`, { claim, ...more });
  }

  close(): Promise<void> {
    return this.stream.close();
  }
}
