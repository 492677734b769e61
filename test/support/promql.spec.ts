import { describe, expect, it } from '@jest/globals';
import { askedBy, seriesOf } from './promql.js';

describe('what a query asks for', () => {
  it.each([
    ['up == 0', [{ name: 'up', labels: [] }]],
    ['sum by (kind, le) (rate(a_total{outcome!="b{c}", x=~"5.."}[5m])) > 0.02', [{ name: 'a_total', labels: ['outcome', 'x', 'kind'] }]],
    [
      'a{instance=~"$i"} - time() < 3 and on (place) b',
      [
        { name: 'a', labels: ['place'] },
        { name: 'b', labels: ['place'] },
      ],
    ],
    ['histogram_quantile(0.99, sum by (le) (rate(s_bucket[$__rate_interval])))', [{ name: 's_bucket', labels: [] }]],
  ])('%s', (query, asked) => {
    expect(askedBy(query)).toEqual(asked);
  });

  it('is held against what there is', () => {
    const series = seriesOf('# TYPE a gauge\na{b="c d",e="}"} 1\n# TYPE h histogram\nh_bucket{le="1"} 0\n# TYPE none counter\n');
    expect([...series].map(([name, labels]) => [name, ...labels])).toEqual([
      ['a', 'b', 'e'],
      ['h_bucket', 'le'],
      ['h_sum'],
      ['h_count'],
      ['none'],
    ]);
  });
});
