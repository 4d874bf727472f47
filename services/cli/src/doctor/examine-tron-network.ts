import { tronFamily } from '@opentill/chain-tron/family';
import type { BlockHeader } from '@opentill/chain/block';
import type { ChainReader } from '@opentill/chain/chain-reader';
import { headStaleSecondsOf, rpcEndpointsOf, type NetworkConfig } from '@opentill/contracts/network-config';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { Clock } from '@opentill/runtime/clock';
import { checkSources } from './check-sources.ts';
import { findingOf, sentence, type Finding } from './finding.ts';

/** An endpoint by itself, as the scanner would read it alone. */
interface Endpoint {
  readonly label: string;
  readonly reader: ChainReader;
  /** What the check of the network found missing, which another endpoint may have. */
  readonly missing: readonly string[];
}

interface Examined {
  readonly label: string;
  readonly reader: ChainReader;
  readonly findings: readonly Finding[];
  /** Its newest solid block; undefined where it has none, or is not of this network. */
  readonly solid: BlockHeader | undefined;
}

const REQUEST_TIMEOUT_MS = 10_000;
const MISSING = {
  RECEIPTS_MISSING: 'It gives no receipts of whole blocks',
  SOLID_MISSING: 'It does not answer walletsolidity',
} as const;

/** Holds a TRON network of the file against its endpoints: each by itself, and against each other. */
export async function examineTronNetwork(network: NetworkConfig, clock: Clock): Promise<readonly Finding[]> {
  const examined = await Promise.all(
    endpointsOf(network).map(async (endpoint) => examineEndpoint(endpoint, network, clock)),
  );
  const usable = examined.filter(({ findings }) => findings.every(({ outcome }) => outcome !== 'fail'));
  return [
    checkSources(network, usable.length),
    ...examined.flatMap(({ findings }) => findings),
    ...(await compareEndpoints(usable, network)),
  ];
}

function endpointsOf(network: NetworkConfig): readonly Endpoint[] {
  return rpcEndpointsOf(network).map((endpoint, place) => {
    const missing: string[] = [];
    const { solidityUrls, ...rest } = network;
    const solidityUrl = solidityUrls?.[place];
    const alone = {
      ...rest,
      rpcUrls: [endpoint],
      ...(solidityUrl === undefined ? {} : { solidityUrls: [solidityUrl] }),
    };
    const reader = tronFamily.createReader(alone, {
      requestTimeoutMs: REQUEST_TIMEOUT_MS,
      onFinding: ({ kind }) => {
        if (kind === 'RECEIPTS_MISSING' || kind === 'SOLID_MISSING') missing.push(MISSING[kind]);
      },
    });
    return { label: new URL(endpoint.url).host, reader, missing };
  });
}

/** One thing after the other: it may be a public endpoint. What is of another network is asked no more. */
async function examineEndpoint(
  { label, reader, missing }: Endpoint,
  network: NetworkConfig,
  clock: Clock,
): Promise<Examined> {
  const found = { subject: label, check: 'network' };
  try {
    await reader.checkNetwork();
  } catch (error) {
    return { label, reader, findings: [networkFinding(error, label)], solid: undefined };
  }
  const tokens = network.tokens.filter(({ contract }) => contract !== null).map(({ symbol }) => symbol);
  const ofNetwork: Finding =
    missing.length === 0
      ? {
          ...found,
          outcome: 'ok',
          detail: `Genesis ${network.genesisId ?? ''}; ${tokens.join(', ')} with their decimals.`,
        }
      : {
          ...found,
          outcome: 'fail',
          detail: `${missing.join('. ')}.`,
          mend: 'Take another endpoint, or name where walletsolidity is answered in solidityUrls.',
        };
  const head = await attempt(label, 'head', async () => reader.head());
  if ('outcome' in head) return { label, reader, findings: [ofNetwork, head], solid: undefined };
  const solid = await attempt(label, 'finalized', async () => readSolid(reader));
  const findings = [ofNetwork, headFinding(label, head, network, clock)];
  if ('outcome' in solid) return { label, reader, findings: [...findings, solid], solid: undefined };
  findings.push(solidFinding(label, head, solid, network), await checkBlock(label, reader, solid));
  return { label, reader, findings, solid };
}

function networkFinding(error: unknown, label: string): Finding {
  const finding = findingOf(error, label, 'network');
  if (!(error instanceof GatewayError)) return finding;
  const detail = sentence(error.message); // genesis ids are hex, here as in the file
  if (error.code === 'WRONG_CHAIN')
    return {
      ...finding,
      detail,
      mend: 'Put an endpoint of this network into rpcUrls, or the right genesisId.',
    };
  if (error.code === 'TOKEN_MISMATCH')
    return { ...finding, detail, mend: 'Take the contract and its decimals from the issuer’s own list.' };
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
  const height = await reader.finalizedHeight();
  const [block] = await reader.headers(height, height);
  if (block === undefined) throw new TypeError('a block that was asked for is there, or the reader throws');
  return block;
}

function headFinding(label: string, head: BlockHeader, network: NetworkConfig, clock: Clock): Finding {
  const ageSeconds = Math.round(clock.now().getTime() / 1_000 - head.timeSeconds);
  const found = { subject: label, check: 'head', detail: `Block ${head.height}, ${ageSeconds} s old.` };
  const staleSeconds = headStaleSecondsOf(network);
  if (ageSeconds <= staleSeconds) return { ...found, outcome: 'ok' };
  const mend = `Blocks of ${network.chain} should not be older than ${staleSeconds} s: the node is stuck or still syncing.`;
  return { ...found, outcome: 'fail', mend };
}

function solidFinding(
  label: string,
  head: BlockHeader,
  solid: BlockHeader,
  { finality }: NetworkConfig,
): Finding {
  const seconds = head.timeSeconds - solid.timeSeconds;
  const detail = `Block ${solid.height} is solid, ${head.height - solid.height} blocks and ${seconds} s behind the head.`;
  const found = { subject: label, check: 'finalized', detail };
  if (finality === undefined || seconds <= finality.staleSeconds) return { ...found, outcome: 'ok' };
  const mend =
    'The chain or this node makes no block solid just now; nothing newer is credited until it does.';
  return { ...found, outcome: 'fail', mend };
}

/** Reads the solid block as the scanner does: whole, and with a receipt of each of its transactions. */
async function checkBlock(label: string, reader: ChainReader, { height }: BlockHeader): Promise<Finding> {
  const found = { subject: label, check: 'receipts' };
  try {
    await reader.readVerified(height, height, []);
    return { ...found, outcome: 'ok', detail: `Block ${height} was read whole, with all its receipts.` };
  } catch (error) {
    return findingOf(error, label, found.check);
  }
}

/** Whether all have the same block where all have a solid one. */
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
    if (hashes.size === 1)
      return [{ ...found, outcome: 'ok', detail: `${labels} have the same block ${height}.` }];
    const mend = 'One of them is on another chain, or lies: compare with an explorer and take it out.';
    return [{ ...found, outcome: 'fail', detail: `${labels} have different blocks ${height}.`, mend }];
  } catch (error) {
    return [findingOf(error, found.subject, found.check)];
  }
}
