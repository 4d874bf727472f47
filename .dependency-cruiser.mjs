/** The import rules of ARCHITECTURE.md: dependencies point one way, a service never imports a service. */
const libsAllowed = {
  domain: [],
  contracts: ['domain', 'chain'],
  chain: ['domain'],
  db: ['domain', 'contracts'],
  messaging: ['domain', 'contracts', 'runtime'],
  runtime: ['domain', 'contracts'],
  wallet: ['domain', 'contracts', 'chain'],
  'chain-sources': ['domain', 'contracts', 'chain'],
  'chain-evm': ['domain', 'contracts', 'chain', 'chain-sources'],
  'chain-tron': ['domain', 'contracts', 'chain', 'chain-sources'],
  'chain-sui': ['domain', 'contracts', 'chain', 'chain-sources'],
  scanner: ['domain', 'contracts', 'chain', 'db', 'messaging', 'runtime'],
  sdk: [],
};
/** Folders of payout-signer, each with those that it may import (services/payout-signer/docs/structure.md). */
const signer = '^services/payout-signer/src/';
const signerAllowed = {
  payouts: [],
  energy: [],
  policy: ['payouts'],
  observe: ['payouts'],
  store: ['payouts'],
  wallet: ['payouts', 'policy', 'observe', 'store'],
  'nonce/store': ['payouts', 'store'],
  'expiring/store': ['payouts', 'store'],
  'sweeps/store': ['store'],
  nonce: ['nonce/store', 'payouts', 'policy', 'observe', 'wallet'],
  expiring: ['expiring/store', 'payouts', 'policy', 'observe', 'wallet'],
  sweeps: ['sweeps/store', 'payouts', 'policy', 'observe', 'wallet', 'energy'],
  handlers: ['wallet'],
};
const tests = '\\.test\\.ts$|/test/';

export default {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    { name: 'not-to-unresolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
    {
      name: 'no-orphans',
      severity: 'error',
      comment: 'A file that nothing imports and that is no entry point is dead.',
      from: {
        orphan: true,
        pathNot: [
          tests,
          '/main\\.ts$',
          '\\.mjs$',
          'tools/testkit/',
          '/measure-[^/]+\\.ts$',
          '/scripts/',
          'libs/sdk/',
        ],
      },
      to: {},
    },
    ...Object.entries(libsAllowed).map(([lib, allowed]) => ({
      name: `${lib}-imports`,
      severity: 'error',
      comment: `libs/${lib} may import only: ${allowed.join(', ') || 'nothing of ours'}`,
      from: { path: `^libs/${lib}/`, pathNot: tests },
      to: { path: '^(libs|services|deploy|tools)/', pathNot: `^libs/(${[lib, ...allowed].join('|')})/` },
    })),
    ...Object.entries(signerAllowed).map(([folder, allowed]) => ({
      name: `signer-${folder.replace('/', '-')}-imports`,
      severity: 'error',
      comment: `${folder} of payout-signer may import only: ${allowed.join(', ') || 'none of its folders'}`,
      from: { path: `${signer}${folder}/[^/]+$`, pathNot: tests },
      to: { path: signer, pathNot: `${signer}(${[folder, ...allowed].join('|')})/[^/]+$` },
    })),
    {
      name: 'sql-in-store-folders',
      severity: 'error',
      comment: 'What a store offers takes and returns values, and a Db or a Tx of libs/db.',
      from: { path: '^services/', pathNot: ['/store/', tests] },
      to: { path: 'node_modules/(kysely|pg)/' },
    },
    {
      name: 'domain-is-pure',
      severity: 'error',
      comment: 'libs/domain imports nothing, not even Node.',
      from: { path: '^libs/domain/src', pathNot: tests },
      to: { pathNot: '^libs/domain/src' },
    },
    {
      name: 'services-are-islands',
      severity: 'error',
      comment: 'The page of services/checkout is no process: the api draws it.',
      from: { path: '^services/([^/]+)/', pathNot: tests },
      to: { path: '^(services|deploy|tools)/', pathNot: '^services/($1|checkout)/' },
    },
    {
      name: 'the-page-is-the-api’s-alone',
      severity: 'error',
      from: { path: '^(libs|services|deploy|tools)/', pathNot: ['^services/(api|checkout)/', tests] },
      to: { path: '^services/checkout/' },
    },
    {
      name: 'the-page-runs-in-browsers',
      severity: 'error',
      comment: 'What is drawn in the browser as well imports rules and contracts, and nothing of Node.',
      from: { path: '^services/checkout/src/(view|texts|client)/', pathNot: tests },
      to: {
        pathNot: ['^services/checkout/src/(view|texts|client)/', '^libs/(domain|contracts)/', '/uqr/'],
      },
    },
    {
      name: 'tools-never-ship',
      severity: 'error',
      comment: 'Libraries and services use tools in tests only.',
      from: { path: '^(libs|services)/', pathNot: tests },
      to: { path: '^tools/' },
    },
    {
      name: 'testkit-only-in-tests',
      severity: 'error',
      from: { path: '^(deploy|tools)/', pathNot: [tests, '^tools/(testkit|e2e|bench)/'] },
      to: { path: '^tools/testkit/' },
    },
    {
      name: 'test-servers-know-no-chain',
      severity: 'error',
      from: { path: '^tools/test-servers/', pathNot: tests },
      to: { path: '^(libs|services|deploy|tools)/', pathNot: '^(tools/test-servers|libs/domain)/' },
    },
    {
      name: 'devnets-import-nothing-that-they-check',
      severity: 'error',
      from: { path: '^tools/devnets/', pathNot: tests },
      to: { path: '^(libs|services|deploy|tools)/', pathNot: '^(tools/(devnets|test-servers)|libs/domain)/' },
    },
    {
      name: 'ethers-only-where-evm-is-spoken',
      severity: 'error',
      from: { path: '^(libs|services)/', pathNot: ['^libs/chain-evm/', tests] },
      to: { path: 'node_modules/ethers/' },
    },
    {
      name: 'tronweb-only-where-transactions-are-written',
      severity: 'error',
      comment: 'Only its functions: the class TronWeb may ask a node.',
      from: { path: '^(libs|services|deploy)/', pathNot: tests },
      to: { path: 'node_modules/tronweb/', pathNot: '/lib/esm/utils/' },
    },
    {
      name: 'tronweb-in-one-file',
      severity: 'error',
      from: {
        path: '^(libs|services|deploy)/',
        pathNot: ['^libs/chain-tron/src/sender/transaction\\.ts$', tests],
      },
      to: { path: 'node_modules/tronweb/' },
    },
    {
      name: 'tronweb-not-where-nothing-is-signed',
      severity: 'error',
      comment: 'It takes 0.2 s of the start, and 17 MB in the api, 25 MB in scanner-tron.',
      from: {
        path: '^(services/(?!payout-signer/|cli/)[^/]+|deploy/[^/]+)/src/',
        pathNot: ['^deploy/small/src/signer\\.ts$', tests],
      },
      to: { path: 'node_modules/tronweb/', reachable: true },
    },
    {
      name: 'tronweb-late-in-commands',
      severity: 'error',
      comment: 'Each command of `opentill` would start 0.2 s later.',
      from: { path: '^services/cli/src/', pathNot: tests },
      to: { path: '^libs/chain-tron/src/sender/', dependencyTypesNot: ['dynamic-import', 'type-only'] },
    },
    {
      name: 'mysten-only-where-sui-is-spoken',
      severity: 'error',
      from: {
        path: '^(libs|services|deploy|tools)/',
        pathNot: ['^libs/chain-sui/', '^tools/', tests],
      },
      to: { path: 'node_modules/@mysten/' },
    },
    {
      name: 'one-importer-of-amqplib-and-pg',
      severity: 'error',
      from: { path: '^(libs|services)/', pathNot: ['^libs/(messaging|db)/', tests] },
      to: { path: 'node_modules/(amqplib|pg)/' },
    },
    {
      name: 'only-production-dependencies',
      severity: 'error',
      from: { path: '^(libs|services)/[^/]+/src', pathNot: tests },
      // A peer is installed by the services that load it: payout-signer and cli install TronWeb for chain-tron.
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['npm-peer'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(libs|services|deploy|tools)/.*/(dist|artifacts|golden|fixtures)/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.base.json' },
    parser: 'swc',
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['source', 'types', 'import', 'default'],
      extensions: ['.ts', '.js', '.mjs'],
    },
  },
};
