/**
 * Programs that run as bundles: name of the image to its entry files, and to the files that they read (target to
 * source). A program finds these files relative to its own, so targets mirror the layout of the packages.
 */
const AWAIT_LOGIN = { 'await-login': 'libs/db/src/await-login/main.ts' };
const DERIVATION = { 'derivation-worker': 'services/api/src/derivation-worker.ts' };
/** Modules of packages that the page contains, as [module, imports]. */
export const PAGE_MODULES = 'services/checkout/dist/page-modules.json';
const PAGES = {
  'dist/page': 'services/checkout/dist/page',
  'dist/guides.json': 'services/api/dist/guides.json',
};

const service = (name, entries = {}, files = {}) => ({
  folder: `services/${name}`,
  entries: { main: `services/${name}/src/main.ts`, ...AWAIT_LOGIN, ...entries },
  files,
});

export const APPS = {
  api: service('api', DERIVATION, PAGES),
  'scanner-evm': service('scanner-evm'),
  'scanner-tron': service('scanner-tron'),
  'scanner-sui': service('scanner-sui'),
  'confirmation-tracker': service('confirmation-tracker'),
  'webhook-sender': service('webhook-sender'),
  rates: service('rates'),
  'payout-signer': service('payout-signer'),
  ops: service('ops'),
  cli: service('cli', {}, { schema: 'libs/db/schema' }),
  small: {
    folder: 'deploy/small',
    entries: { gateway: 'deploy/small/src/gateway.ts', signer: 'deploy/small/src/signer.ts', ...DERIVATION },
    files: PAGES,
  },
  'demo-shop': { folder: 'tools/demo-shop', entries: { main: 'tools/demo-shop/src/main.ts' }, files: {} },
};
