import { fencedBlocks, readMarkdownFiles, type MarkdownFile } from './read-markdown.ts';

/**
 * Tests that run the documents' commands. Each fenced block is run by one of them or listed in NOT_RUN with a reason.
 * Each command in a sentence must also be in a block that is run.
 */
export type Runner =
  /** tools/e2e/test/gateway.test.ts, on the gateway of `npm start`. */
  | 'npm-start'
  /** tools/e2e/test/npm-start.full.test.ts, the same for slow commands. */
  | 'npm-start-long'
  /** tools/e2e/test/guides.full.test.ts, for commands that need an incident or a lost machine. */
  | 'guides'
  /** tools/e2e/test/units.full.test.ts, with the units' processes on its own servers, without systemd. */
  | 'units'
  /** tools/e2e/test/compose.docker.test.ts, with a Docker engine. */
  | 'docker'
  /** libs/sdk/test/readme.test.ts. */
  | 'sdk'
  /** libs/sdk/test/packed.full.test.ts. */
  | 'sdk-packed'
  /** tools/e2e/test/checkout.full.test.ts, on a static host. */
  | 'checkout'
  /** tools/devnets/test, on the node of its chain. */
  | 'devnet';

type Marks = Readonly<Record<string, Runner>>;
const marks = (runner: Runner, ...names: readonly string[]): Marks =>
  Object.fromEntries(names.map((name) => [name, runner]));

/** Document to mark to the test that runs the blocks with this mark. */
export const RUN_BY: Readonly<Record<string, Marks>> = {
  'README.md': marks('npm-start', 'start'),
  'deploy/guides/first-payment.md': {
    ...marks('npm-start', 'start', 'first-payment', 'first-payout'),
    ...marks(
      'guides',
      'shop-merchant',
      'shop-install',
      'shop-code',
      'shop-start',
      'shop-pay',
      'shop-explain',
      'shop-sweep',
      'shop-price',
      'shop-price-start',
      'shop-link',
    ),
  },
  'deploy/guides/going-to-mainnet.md': {
    ...marks('npm-start-long', 'doctor', 'keys', 'drill', 'policy', 'approver', 'proxy'),
    ...marks('guides', 'merchant', 'first-money', 'sweep-policy', 'sweep-plan'),
    ...marks('units', 'units-files', 'units-database', 'units-broker', 'units-setup', 'units-start'),
    ...marks('docker', 'in-containers'),
  },
  'deploy/guides/migrating.md': marks('guides', 'migrant'),
  'deploy/guides/operations.md': {
    ...marks('npm-start-long', 'daily', 'halt', 'release', 'backup'),
    ...marks('guides', 'incident', 'foreign-nonce', 'late', 'approval', 'callbacks', 'chain', 'export'),
    ...marks('guides', 'sweeps', 'unmatched'),
    ...marks('guides', 'restore', 'restored', 'restore-decide', 'restore-release', 'restore-money'),
  },
  'tools/devnets/README.md': marks('devnet', 'tron-web', 'sui-client'),
  'libs/sdk/README.md': {
    ...marks('sdk', 'order', 'callbacks'),
    ...marks('sdk-packed', 'install'),
    ...marks('guides', 'callback-url'),
  },
  'services/checkout/docs/checkout.md': marks('checkout', 'page-export', 'page-nginx', 'page-caddy'),
  'services/payout-signer/docs/payouts.md': marks('guides', 'policy-example'),
};

interface NotRun {
  readonly document: string;
  readonly begins: string;
  readonly why: string;
}
const notRun = (document: string, why: string, ...begin: readonly string[]): readonly NotRun[] =>
  begin.map((begins) => ({ document, begins, why }));

function withoutProgram(name: string): string {
  return `skipped with a message on standard error if ${name} is not installed and apt-get cannot fetch it`;
}

/** Their tests run them with an installed or unpacked program (web-server.ts). */
const WEB_SERVERS: readonly NotRun[] = [
  ...notRun('deploy/guides/going-to-mainnet.md', withoutProgram('nginx'), 'server {'),
  ...notRun('services/checkout/docs/checkout.md', withoutProgram('nginx'), 'location / {'),
  ...notRun('services/checkout/docs/checkout.md', withoutProgram('Caddy'), 'root * /srv/page'),
];

/** Blocks and commands that no test runs unchanged, and why. Keep it short. */
export const NOT_RUN: readonly NotRun[] = [
  ...notRun('README.md', 'npm-start.full.test.ts starts it with the same arguments', 'npm start -- --keep'),
  ...notRun('README.md', 'write-networks.test.ts reads such a file', 'npm start -- --networks'),
  ...notRun('README.md', 'runs the tests themselves', 'npm test'),
  ...notRun('README.md', 'a list of commands, tested with commands.md', 'npm run -s opentill -- --help'),
  ...notRun(
    'deploy/guides/docker.md',
    'needs a Docker engine: compose.docker.test.ts does the same in its own project',
    'deploy/compose/prepare',
    'docker compose',
    'node --conditions=source deploy/compose/src/measure-containers.ts',
  ),
  ...notRun(
    'deploy/guides/kubernetes.md',
    'needs a cluster: gateway.kubernetes.test.ts does the same in a namespace of its own',
    'SECRETS_DIR=secrets deploy/compose/prepare',
    'helm -n opentill',
    'kubectl',
    'pnpm vitest --project kubernetes',
    'scanners:',
  ),
  ...notRun('deploy/guides/kubernetes.md', 'needs a published release', 'cosign verify'),
  ...notRun(
    'deploy/guides/going-to-mainnet.md',
    'every test run does the same in its own checkout',
    'cd /opt/opentill',
  ),
  ...notRun(
    'deploy/guides/going-to-mainnet.md',
    'compose.docker.test.ts does the same in its own project, with the wallet of devnet-keys',
    'docker compose up -d --build',
    'docker compose run --rm keys',
  ),
  ...notRun(
    'deploy/guides/operations.md',
    'same as in going-to-mainnet.md: compose.docker.test.ts',
    'docker compose run --rm cli',
    'docker compose up -d --build',
  ),
  ...notRun('deploy/guides/operations.md', 'needs a published release', 'cosign verify'),
  ...notRun(
    'deploy/guides/operations.md',
    'needs a scanner from before the gaps between blocks',
    'begin;\nupdate chain_cursor',
  ),
  ...notRun(
    'deploy/guides/operations.md',
    'service.test.ts of libs/runtime sends the signal to a process',
    'docker compose kill -s SIGUSR2',
  ),
  ...notRun(
    'deploy/guides/monitoring.md',
    'needs a Docker engine and images: observability.test.ts checks the files, observability.full.test.ts the queries',
    'docker compose -f docker-compose.yml -f deploy/observability/docker-compose.yml',
  ),
  ...notRun(
    'deploy/guides/monitoring.md',
    'observability.full.test.ts starts it with the same file and other ports',
    'prometheus --config.file',
  ),
  ...notRun(
    'deploy/guides/monitoring.md',
    'needs a cluster: observability.test.ts checks the files',
    'kubectl apply',
  ),
  ...notRun(
    'deploy/guides/docker.md',
    'for a payout that its merchant requests again: restore.full.test.ts',
    'restore decide-payment <txid> --order',
  ),
  ...notRun(
    'deploy/guides/docker.md',
    "for a transaction that was not found: the signer's own tests (decided by an operator)",
    'payout decide <order> --paid-by',
  ),
  ...notRun(
    'deploy/guides/operations.md',
    'for the file of an older version: services/cli/test/keys.test.ts',
    'opentill keys renew-public',
  ),
  ...notRun(
    'deploy/guides/operations.md',
    'needs a hot wallet funded without the scanner: reconcile.test.ts and ops-commands.test.ts of services/cli run them',
    'reconcile --book-gas',
    'wallet book-top-up',
    'wallet list-top-ups',
    'wallet reverse-top-up',
  ),
  ...WEB_SERVERS,
  ...notRun(
    'deploy/networks/README.md',
    'needs a chain of its own: add-chain.test.ts of services/cli runs it at a devnet',
    'opentill chain add',
  ),
  ...notRun(
    'tools/devnets/README.md',
    'runs until it is stopped: tools/devnets/test starts the same program and tests it with an unmodified client',
    'npm run -s opentill -- devnet tron',
    'npm run -s opentill -- devnet sui',
  ),
];

export interface CommandTree {
  name(): string;
  readonly commands: readonly CommandTree[];
  readonly options: readonly { readonly long?: string | undefined }[];
}

export interface SpelledCommand {
  readonly path: string;
  readonly options: readonly string[];
}

/** Command paths to the options of each command. Groups of commands are left out. */
export function commandsOf(program: CommandTree, before = ''): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, ReadonlySet<string>>();
  for (const command of program.commands) {
    const path = `${before}${command.name()}`;
    const isGroup = command.commands.length > 0 && command.options.length === 0;
    if (!isGroup) found.set(path, new Set(command.options.flatMap(({ long }) => long ?? [])));
    for (const [sub, options] of commandsOf(command, `${path} `)) found.set(sub, options);
  }
  return found;
}

const CALLED =
  /^(?:opentill|npm run -s opentill --|docker compose run --rm (?:-\S+ (?:\S+ )?)*(?:cli|owner|archive|keys)) +/;

/** Parses a command of a line or inline code. The program's name is optional. Returns undefined for other text. */
export function spelledCommand(
  text: string,
  known: ReadonlyMap<string, ReadonlySet<string>>,
): SpelledCommand | undefined {
  const words = text.trim().replace(CALLED, '').split(/\s+/);
  const paths = [2, 1].map((count) => words.slice(0, count).join(' '));
  const path = paths.find((one) => known.has(one));
  if (path === undefined) return undefined;
  const options = words.filter((word) => /^--[a-z]/.test(word)).map((word) => word.replace(/[=,;:.].*$/, ''));
  return { path, options };
}

/** Lines of a block of shell commands, with continued lines joined and comments removed. */
export function commandLines(block: string): readonly string[] {
  return block
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .map((line) => line.replace(/(?:^|\s)#.*$/, '').trim())
    .filter((line) => line !== '');
}

/** Blocks of one runner. Its test takes and runs each; blocks left at its end were not run. */
export interface GuideBook {
  /** Returns a document's blocks with this mark, in order. Throws if there is none. */
  take(document: string, mark: string): readonly [string, ...string[]];
  left(): readonly string[];
}

export function openGuideBook(
  runner: Runner,
  documents: readonly MarkdownFile[] = readMarkdownFiles(),
): GuideBook {
  const open = new Set(
    Object.entries(RUN_BY).flatMap(([document, byMark]) =>
      Object.entries(byMark).flatMap(([mark, by]) => (by === runner ? [`${document}: ${mark}`] : [])),
    ),
  );
  return {
    take(document, mark) {
      const { text = '' } = documents.find(({ name }) => name === document) ?? {};
      const [first, ...rest] = fencedBlocks(text).flatMap((block) =>
        block.mark === mark ? [block.text] : [],
      );
      if (first === undefined) throw new Error(`${document} has no block ${mark}`);
      open.delete(`${document}: ${mark}`);
      return [first, ...rest];
    },
    left: () => [...open],
  };
}
