import { describe, expect, it } from '@jest/globals';
import { targetOf } from './target.js';

const at = (path: string): string => {
  try {
    const { city, service, path: below, query } = targetOf(path);
    return `${city} ${service} ${below}${query}`;
  } catch (error) {
    return (error as Error).message;
  }
};
const OUT = 'bad_request: the path leads out of the service';

describe('what a request for a service asks for', () => {
  it.each([
    ['/v0/city/a/svc/board', 'a board /'],
    ['/v0/city/a/svc/board/', 'a board /'],
    ['/v0/city/a/svc/board?x=/../y', 'a board /?x=/../y'],
    ['/v0/city/a%2Db/svc/b%6Fard/x%20y//z%2Fw', 'a-b board /x%20y//z%2Fw'],
    ['http://h:1/v0/city/a/svc/board/x', 'a board /x'],
    ['/v0/city/a/svc/board/100%25/%25zz/..x/x..', 'a board /100%25/%25zz/..x/x..'],
    ['/v0/city/a/svc/', 'a  /'],
    ['/v0/city/a/svc/.hidden/x', 'a  /x'],
    ['/v0/city/a/svc/b%2F..%2Fc/x', 'a  /x'],
    ['/v0/city/a/svc/board/..', OUT],
    ['/v0/city/a/svc/board/./x', OUT],
    ['/v0/city/a/svc/board/x/%2e%2E/y', OUT],
    ['/v0/city/a/svc/board/x%2f..%2fy', OUT],
    ['/v0/city/a/svc/board/..%5c', OUT],
    ['/v0/city/a/svc/board/..\\x', OUT],
    ['/v0/city/a/svc/board/..;a=b/x', OUT],
    ['/v0/city/a/svc/board/%252e%252e', OUT],
    ['/v0/city/a/svc/board/%2525252e', OUT],
    ['/v0/city/a/svc/board/%', 'bad_request: the path has a malformed percent-encoding'],
  ])('%s', (url, expected) => {
    expect(at(url)).toBe(expected);
  });
});
