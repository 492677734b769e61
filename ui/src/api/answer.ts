const isJson = ({ headers }: Response): boolean => headers.get('content-type')?.includes('json') === true;

/**
 * The JSON of an answer; undefined where it has none. One that says that all is well and is cut off is no answer: who has read keeps what was
 * there, and who has changed something does not know whether.
 *
 * @throws what has ended the connection, or says that this is no JSON
 */
export async function answerOf(response: Response): Promise<unknown> {
  try {
    return (await response.json()) as unknown;
  } catch (error) {
    if (response.ok && response.status !== 204 && isJson(response)) throw error;
    return undefined;
  }
}
