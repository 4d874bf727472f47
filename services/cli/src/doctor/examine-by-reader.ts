import type { BlockHeader } from '@opentill/chain/block';
import type { ChainReader } from '@opentill/chain/chain-reader';
import { headStaleSecondsOf, rpcEndpointsOf, type NetworkConfig } from '@opentill/contracts/network-config';
import { isTestNetwork } from '@opentill/contracts/network-kind';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { Clock } from '@opentill/runtime/clock';
import { checkSources } from './check-sources.ts';
import { fail, findingOf, ok, sentence, type Finding } from './finding.ts';

interface Endpoint {
  readonly label: string;
  readonly reader: ChainReader;
  readonly missing: readonly string[];
  /** The last endpoint, if it only lacks what archives lack. */
  readonly isArchive: () => boolean;
}

interface Examined {
  readonly label: string;
  readonly reader: ChainReader;
  readonly findings: readonly Finding[];
  readonly isArchive?: boolean;
  /** Undefined if the endpoint has no final block, or belongs to another network. */
  readonly solid: BlockHeader | undefined;
}

/** The endpoints of these families are examined through their reader. */
export interface FamilyExamination {
  /** `place` is the index in the file. The reader reports missing features. */
  readonly openReader: (
    network: NetworkConfig,
    place: number,
    onMissing: (kind: string) => void,
  ) => ChainReader;
  /** Each value is a sentence without its full stop. */
  readonly missing: Readonly<Record<string, string>>;
  readonly archiveLacks?: string;
  readonly mendMissing: string;
  readonly finalWord: string;
  readonly wholeRead: string;
  /** A sentence: consequence of a single endpoint on main networks. */
  readonly singleSourceNote?: string;
}

export async function examineByReader(
  family: FamilyExamination,
  network: NetworkConfig,
  clock: Clock,
): Promise<readonly Finding[]> {
  const examined = await Promise.all(
    endpointsOf(family, network).map(async (endpoint) => examineEndpoint(family, endpoint, network, clock)),
  );
  const usable = examined.filter(({ findings }) => findings.every(({ outcome }) => outcome !== 'fail'));
  const full = usable.filter(({ isArchive }) => isArchive !== true);
  const archives = usable.length - full.length;
  return [
    checkSources(
      network,
      full.length,
      isTestNetwork(network) ? undefined : family.singleSourceNote,
      archives,
    ),
    ...examined.flatMap(({ findings }) => findings),
    ...(await compareEndpoints(usable, network)),
  ];
}

function endpointsOf(family: FamilyExamination, network: NetworkConfig): readonly Endpoint[] {
  const endpoints = rpcEndpointsOf(network);
  return endpoints.map((endpoint, place) => {
    const missing: string[] = [];
    const kinds = new Set<string>();
    const reader = family.openReader(network, place, (kind) => {
      const sentenceOf = family.missing[kind];
      kinds.add(kind);
      if (sentenceOf !== undefined) missing.push(sentenceOf);
    });
    const isLast = place > 0 && place === endpoints.length - 1;
    const isArchive = (): boolean => isLast && kinds.size === 1 && kinds.has(family.archiveLacks ?? '');
    return { label: new URL(endpoint.url).host, reader, missing, isArchive };
  });
}

/** One request after the other, because the endpoint may be public. Stops if it belongs to another network. */
async function examineEndpoint(
  family: FamilyExamination,
  { label, reader, missing, isArchive: mayBeArchive }: Endpoint,
  network: NetworkConfig,
  clock: Clock,
): Promise<Examined> {
  const found = { subject: label, check: 'network' };
  try {
    await reader.checkNetwork();
  } catch (error) {
    return { label, reader, findings: [networkFinding(error, label)], solid: undefined };
  }
  const isArchive = mayBeArchive();
  const tokens = network.tokens.filter(({ contract }) => contract !== null).map(({ symbol }) => symbol);
  const ofNetwork: Finding =
    missing.length === 0
      ? ok(found, `Genesis ${network.genesisId ?? ''}; ${tokens.join(', ')} with their decimals.`)
      : {
          ...found,
          detail: `${missing.join('. ')}.`,
          ...(isArchive ? { outcome: 'ok' } : { outcome: 'fail', mend: family.mendMissing }),
        };
  const head = await attempt(label, 'head', async () => reader.head());
  if ('outcome' in head) return { label, reader, findings: [ofNetwork, head], solid: undefined };
  const solid = await attempt(label, 'finalized', async () => readSolid(reader));
  const findings = [ofNetwork, headFinding(label, head, network, clock)];
  if ('outcome' in solid) return { label, reader, findings: [...findings, solid], solid: undefined };
  findings.push(
    solidFinding(family, label, { head, solid }, network),
    await checkBlock(family, label, reader, solid),
  );
  return { label, reader, findings, isArchive, solid };
}

function networkFinding(error: unknown, label: string): Finding {
  const finding = findingOf(error, label, 'network');
  if (!(error instanceof GatewayError)) return finding;
  const detail = sentence(error.message); // genesis ids have the format of the file
  if (error.code === 'WRONG_CHAIN')
    return {
      ...finding,
      detail,
      mend: 'Put an endpoint of this network into rpcUrls, or correct genesisId.',
    };
  if (error.code === 'TOKEN_MISMATCH')
    return { ...finding, detail, mend: 'Copy the contract and its decimals from the issuer’s list.' };
  return finding;
}

async function attempt<T extends object>(
  label: string,
  check: string,
  ask: () => Promise<T>,
): Promise<T | Finding> {
  try {
    return await ask();
  } catch (error) {
    return findingOf(error, label, check);
  }
}

async function readSolid(reader: ChainReader): Promise<BlockHeader> {
  const { height } = await reader.finalized();
  const [block] = await reader.headers(height, height);
  if (block === undefined) throw new TypeError('the reader returned no header for the final block');
  return block;
}

function headFinding(label: string, head: BlockHeader, network: NetworkConfig, clock: Clock): Finding {
  const ageSeconds = Math.round(clock.now().getTime() / 1_000 - head.timeSeconds);
  const found = { subject: label, check: 'head', detail: `Block ${head.height}, ${ageSeconds} s old.` };
  const staleSeconds = headStaleSecondsOf(network);
  if (ageSeconds <= staleSeconds) return { ...found, outcome: 'ok' };
  const mend = `The head of ${network.chain} should not be older than ${staleSeconds} s: the node is stuck or still syncing.`;
  return { ...found, outcome: 'fail', mend };
}

function solidFinding(
  { finalWord }: FamilyExamination,
  label: string,
  { head, solid }: { readonly head: BlockHeader; readonly solid: BlockHeader },
  { finality }: NetworkConfig,
): Finding {
  const seconds = head.timeSeconds - solid.timeSeconds;
  const detail = `Block ${solid.height} is ${finalWord}, ${head.height - solid.height} blocks and ${seconds} s behind the head.`;
  const found = { subject: label, check: 'finalized', detail };
  if (finality === undefined || seconds <= finality.staleSeconds) return { ...found, outcome: 'ok' };
  const mend = `The chain or this node makes no block ${finalWord} at present; newer payments are not credited until it does.`;
  return { ...found, outcome: 'fail', mend };
}

async function checkBlock(
  { wholeRead }: FamilyExamination,
  label: string,
  reader: ChainReader,
  { height }: BlockHeader,
): Promise<Finding> {
  const found = { subject: label, check: 'receipts' };
  try {
    await reader.readVerified(height, height, []);
    return ok(found, `Block ${height} ${wholeRead}.`);
  } catch (error) {
    return findingOf(error, label, found.check);
  }
}

async function compareEndpoints(
  endpoints: readonly Examined[],
  network: NetworkConfig,
): Promise<readonly Finding[]> {
  const solid = endpoints.flatMap((one) => (one.solid === undefined ? [] : [{ ...one, block: one.solid }]));
  if (solid.length < 2) return [];
  const found = { subject: network.chain, check: 'same chain' };
  const height = Math.min(...solid.map(({ block }) => block.height));
  try {
    const blocks = await Promise.all(solid.map(async ({ reader }) => reader.headers(height, height)));
    const hashes = new Set(blocks.map(([block]) => block?.hash));
    const labels = solid.map(({ label }) => label).join(', ');
    if (hashes.size === 1) return [ok(found, `${labels} have the same block ${height}.`)];
    const mend =
      'One of them is on another chain or gives wrong answers: compare with an explorer and remove it.';
    return [fail(found, `${labels} have different blocks ${height}.`, mend)];
  } catch (error) {
    return [findingOf(error, found.subject, found.check)];
  }
}
