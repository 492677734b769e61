/** Made by `npm run client:gen`: what the pages of a list call its items, where that is not `items`. */
export const LISTS = {
  '/v0/city/{cityName}/config/explain': 'values',
  '/v0/city/{cityName}/orders': 'orders',
  '/v0/city/{cityName}/orders/history': 'entries',
  '/v0/city/{cityName}/packs': 'packs',
  '/v0/city/{cityName}/runs': 'runs',
  '/v0/city/{cityName}/sling/batch/{request_id}': 'results',
  '/v0/city/{cityName}/waits': 'waits',
} as const;
