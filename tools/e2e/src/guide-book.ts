import { fencedBlocks, readMarkdownFiles, type MarkdownFile } from './read-markdown.ts';

/**
 * Who runs what the documents tell people to type. Every fenced block is run by one of these tests, or stands in NOT_RUN
 * with the reason; and every command that a sentence names is one of a block that is run.
 */
export type Runner =
  /** tools/e2e/test/npm-start.test.ts: on the gateway of `npm start`. */
  | 'npm-start'
  /** tools/e2e/test/npm-start.full.test.ts: the same, what takes longer. */
  | 'npm-start-long'
  /** tools/e2e/test/guides.full.test.ts: what takes longer, needs an incident first, or loses a machine. */
  | 'guides'
  /** tools/e2e/test/units.full.test.ts: on servers of its own, with the units' processes but not systemd. */
  | 'units'
  /** tools/e2e/test/compose.docker.test.ts: where a Docker engine answers. */
  | 'docker'
  /** libs/sdk/test/readme.test.ts. */
  | 'sdk'
  /** libs/sdk/test/packed.full.test.ts. */
  | 'sdk-packed'
  /** tools/e2e/test/checkout.full.test.ts: on a static host. */
  | 'checkout'
  /** tools/devnets/test: each on the node that it is written for. */
  | 'devnet';

type Marks = Readonly<Record<string, Runner>>;
const marks = (runner: Runner, ...names: readonly string[]): Marks =>
  Object.fromEntries(names.map((name) => [name, runner]));

/** By document, the test that runs the blocks of a mark. */
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
  /** How the block or the command begins. */
  readonly begins: string;
  readonly why: string;
}
const notRun = (document: string, why: string, ...begin: readonly string[]): readonly NotRun[] =>
  begin.map((begins) => ({ document, begins, why }));

function withoutProgram(name: string): string {
  return `not where ${name} is neither installed nor fetched by apt-get: the test says so on standard error`;
}

/** Their tests run them, by a program that is installed or unpacked for it: see web-server.ts. */
const WEB_SERVERS: readonly NotRun[] = [
  ...notRun('deploy/guides/going-to-mainnet.md', withoutProgram('nginx'), 'server {'),
  ...notRun('services/checkout/docs/checkout.md', withoutProgram('nginx'), 'location / {'),
  ...notRun('services/checkout/docs/checkout.md', withoutProgram('Caddy'), 'root * /srv/page'),
];

/** What no test runs as it stands in a document, and why. Keep it short. */
export const NOT_RUN: readonly NotRun[] = [
  ...notRun('README.md', 'npm-start.full.test.ts starts it so, by the arguments', 'npm start -- --keep'),
  ...notRun('README.md', 'write-networks.test.ts reads such a file', 'npm start -- --networks'),
  ...notRun('README.md', 'what runs the tests', 'npm test'),
  ...notRun(
    'README.md',
    'a list of commands, which commands.md has as well',
    'npm run -s opentill -- --help',
  ),
  ...notRun(
    'deploy/guides/docker.md',
    'needs a Docker engine: compose.docker.test.ts does the same in a project of its own',
    'deploy/compose/prepare',
    'docker compose',
    'node --conditions=source deploy/compose/src/measure-containers.ts',
  ),
  ...notRun(
    'deploy/guides/going-to-mainnet.md',
    'every run of the tests begins so, in its own checkout',
    'cd /opt/opentill',
  ),
  ...notRun(
    'deploy/guides/going-to-mainnet.md',
    'compose.docker.test.ts begins so, in a project of its own, with the wallet of devnet-keys in the place of one on paper',
    'docker compose up -d --build',
    'docker compose run --rm keys',
  ),
  ...notRun(
    'deploy/guides/operations.md',
    'as in going-to-mainnet.md: compose.docker.test.ts',
    'docker compose run --rm cli',
    'docker compose up -d --build',
  ),
  ...notRun(
    'deploy/guides/docker.md',
    'a payment that its merchant asks for again: restore.full.test.ts',
    'restore decide-payment <txid> --order',
  ),
  ...notRun(
    'deploy/guides/docker.md',
    "a transaction that nobody found: the signer's own tests (decided by an operator)",
    'payout decide <order> --paid-by',
  ),
  ...notRun(
    'deploy/guides/operations.md',
    'for the file of an older version: services/cli/test/keys.test.ts',
    'opentill keys renew-public',
  ),
  ...notRun(
    'deploy/guides/operations.md',
    'needs a hot wallet that was funded past the scanner: reconcile.test.ts and ops-commands.test.ts of services/cli run them',
    'reconcile --book-gas',
    'wallet book-top-up',
    'wallet list-top-ups',
    'wallet reverse-top-up',
  ),
  ...WEB_SERVERS,
  ...notRun(
    'tools/devnets/README.md',
    'runs until it is stopped: tools/devnets/test starts the same program, and drives it by an unmodified client',
    'npm run -s opentill -- devnet tron',
    'npm run -s opentill -- devnet sui',
  ),
];

/** The part of commander's commands that is looked at. */
export interface CommandTree {
  name(): string;
  readonly commands: readonly CommandTree[];
  readonly options: readonly { readonly long?: string | undefined }[];
}

/** A command of the operators' command line, as far as a document spells it. */
export interface SpelledCommand {
  /** `hold release`. */
  readonly path: string;
  readonly options: readonly string[];
}

/** Every command that does something by its words, with the options it takes. */
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

/** The command that a line or an inline span spells; undefined when it is none. `opentill` and its like may be left out. */
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

/** The lines of a block of shell commands, those that go on put together, without comments. */
export function commandLines(block: string): readonly string[] {
  return block
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .map((line) => line.replace(/(?:^|\s)#.*$/, '').trim())
    .filter((line) => line !== '');
}

/** The blocks of one runner. A test takes each by its mark and runs it; what is left at its end was run by nobody. */
export interface GuideBook {
  /** The blocks of a mark of a document, in order. Throws when there is none. */
  take(document: string, mark: string): readonly [string, ...string[]];
  /** Document and mark of what was not taken yet. */
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
