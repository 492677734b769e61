import { Agent, request, type IncomingHttpHeaders } from 'node:http';

export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  readonly headers: IncomingHttpHeaders;
}

const agent = new Agent({ keepAlive: false });

/** One request with nothing clever about it: no retry, no pooled connection. Undefined when no complete answer arrived. */
export function ask(
  method: string,
  url: string,
  options: { body?: unknown; headers?: Record<string, string>; ms?: number } = {},
): Promise<Answer | undefined> {
  return new Promise((resolve) => {
    const { body } = options;
    // A text is sent as it is.
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
    const headers = {
      'x-svc-request': 'chaos',
      ...(text === undefined ? {} : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) }),
      ...options.headers,
    };
    const outgoing = request(url, { method, headers, agent }, (response) => {
      let answer = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => (answer += chunk));
      response.on('error', () => resolve(undefined));
      response.on('end', () =>
        resolve(
          response.complete
            ? {
                status: response.statusCode ?? 0,
                contentType: response.headers['content-type'] ?? '',
                body: answer,
                headers: response.headers,
              }
            : undefined,
        ),
      );
      response.on('close', () => resolve(undefined));
    });
    outgoing.on('error', () => resolve(undefined));
    outgoing.setTimeout(options.ms ?? 6_000, () => outgoing.destroy());
    outgoing.end(text);
  });
}
