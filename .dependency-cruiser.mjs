/** Import rules of ARCHITECTURE.md. */
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
/** Folders that each folder of payout-signer may import (services/payout-signer/docs/structure.md). */
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
      comment: 'A file that is neither imported nor an entry point is dead code.',
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
      comment: `libs/${lib} may import only: ${allowed.join(', ') || 'no workspace package'}`,
      from: { path: `^libs/${lib}/`, pathNot: tests },
      to: { path: '^(libs|services|deploy|tools)/', pathNot: `^libs/(${[lib, ...allowed].join('|')})/` },
    })),
    ...Object.entries(signerAllowed).map(([folder, allowed]) => ({
      name: `signer-${folder.replace('/', '-')}-imports`,
      severity: 'error',
      comment: `${folder} of payout-signer may import only: ${allowed.join(', ') || 'no other folder'}`,
      from: { path: `${signer}${folder}/[^/]+$`, pathNot: tests },
      to: { path: signer, pathNot: `${signer}(${[folder, ...allowed].join('|')})/[^/]+$` },
    })),
    {
      name: 'sql-in-store-folders',
      severity: 'error',
      comment: 'Functions of a store take values and a Db or Tx of libs/db, and return values.',
      from: { path: '^services/', pathNot: ['/store/', tests] },
      to: { path: 'node_modules/(kysely|pg)/' },
    },
    {
      name: 'domain-is-pure',
      severity: 'error',
      comment: 'libs/domain imports no other package and no Node module.',
      from: { path: '^libs/domain/src', pathNot: tests },
      to: { pathNot: '^libs/domain/src' },
    },
    {
      name: 'services-import-no-service',
      severity: 'error',
      comment: 'Except services/checkout, a library without a process: the api renders its page.',
      from: { path: '^services/([^/]+)/', pathNot: tests },
      to: { path: '^(services|deploy|tools)/', pathNot: '^services/($1|checkout)/' },
    },
    {
      name: 'trace-sdk-only-when-on',
      comment: 'Without OTEL_EXPORTER_OTLP_ENDPOINT no service loads the OpenTelemetry SDK.',
      from: { path: '^(libs|services|deploy)/', pathNot: ['^libs/runtime/src/export-spans\\.ts$', tests] },
      to: { path: 'node_modules/@opentelemetry/(?!api/)' },
    },
    {
      name: 'trace-sdk-imported-dynamically',
      from: { path: '^(libs|services|deploy)/', pathNot: tests },
      to: { path: '^libs/runtime/src/export-spans\\.ts$', dynamic: false },
    },
    {
      name: 'only-the-api-imports-the-page',
      severity: 'error',
      from: { path: '^(libs|services|deploy|tools)/', pathNot: ['^services/(api|checkout)/', tests] },
      to: { path: '^services/checkout/' },
    },
    {
      name: 'the-page-runs-in-browsers',
      severity: 'error',
      comment:
        'Code that also runs in the browser imports only libs/domain and libs/contracts, no Node module.',
      from: { path: '^services/checkout/src/(view|texts|client)/', pathNot: tests },
      to: {
        pathNot: [
          '^services/checkout/src/(view|texts|client)/',
          '^libs/(domain|contracts)/',
          '/uqr/',
          'node_modules/@walletconnect/',
        ],
      },
    },
    {
      name: 'walletconnect-in-one-folder',
      severity: 'error',
      comment: 'Third-party code in the payment page. The test servers contain a relay and a wallet.',
      from: {
        path: '^(libs|services|deploy|tools)/',
        pathNot: ['^services/checkout/src/client/wallet-connect/', '^tools/test-servers/src/walletconnect-'],
      },
      to: { path: 'node_modules/@walletconnect/' },
    },
    {
      name: 'walletconnect-loaded-on-demand',
      severity: 'error',
      comment: 'The page loads it only after the payer has pressed its button.',
      from: {
        path: '^services/',
        pathNot: ['^services/checkout/src/client/wallet-connect/', tests],
      },
      to: {
        path: '^services/checkout/src/client/wallet-connect/',
        dependencyTypesNot: ['dynamic-import', 'type-only'],
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
      name: 'devnets-import-no-code-that-they-test',
      severity: 'error',
      from: { path: '^tools/devnets/', pathNot: tests },
      to: { path: '^(libs|services|deploy|tools)/', pathNot: '^(tools/(devnets|test-servers)|libs/domain)/' },
    },
    {
      name: 'ethers-only-in-chain-evm',
      severity: 'error',
      from: { path: '^(libs|services)/', pathNot: ['^libs/chain-evm/', tests] },
      to: { path: 'node_modules/ethers/' },
    },
    {
      name: 'tronweb-only-its-utils',
      severity: 'error',
      comment: 'The class TronWeb can send requests to a node.',
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
      name: 'tronweb-only-in-signing-processes',
      severity: 'error',
      comment: 'It adds 0.2 s to each start, 17 MB to the api and 25 MB to scanner-tron.',
      from: {
        path: '^(services/(?!payout-signer/|cli/)[^/]+|deploy/[^/]+)/src/',
        pathNot: ['^deploy/small/src/signer\\.ts$', tests],
      },
      to: { path: 'node_modules/tronweb/', reachable: true },
    },
    {
      name: 'tronweb-loaded-on-demand-in-cli',
      severity: 'error',
      comment: 'A static import delays each command of `opentill` by 0.2 s.',
      from: { path: '^services/cli/src/', pathNot: tests },
      to: { path: '^libs/chain-tron/src/sender/', dependencyTypesNot: ['dynamic-import', 'type-only'] },
    },
    {
      name: 'mysten-only-in-chain-sui',
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
      // chain-tron has TronWeb as a peer dependency; only payout-signer and cli install it.
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
