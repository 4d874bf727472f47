import { readFile, rename, stat, writeFile } from 'node:fs/promises';
import { safeReorgWindow, type NetworkConfig, type TokenConfig } from '@opentill/contracts/network-config';
import { networkKindOf } from '@opentill/contracts/network-kind';
import { parseNetworkFile } from '@opentill/contracts/parse-network-file';
import { isChain, presetOf, presetOfChainId } from '@opentill/domain/chains';
import { readJson } from '@opentill/domain/read-json';
import { cliError, usage, type CliContext } from '../context.ts';
import { examineNetwork } from '../doctor/examine-network.ts';
import { examineSources } from '../doctor/examine-sources.ts';
import { count, reportLines } from '../doctor/print-report.ts';

export interface AddChainOptions {
  readonly chain: string;
  readonly chainId?: string;
  readonly kind?: string;
  readonly name?: string;
  readonly rpcUrl: readonly string[];
  readonly token: readonly string[];
  readonly native: string;
  readonly nativeDecimals: string;
  readonly blockTimeMs: string;
  readonly confirmations: string;
  readonly dataFee?: string;
  readonly explorer?: string;
  /** False by `--no-bloom`. */
  readonly bloom: boolean;
}

/** `USDC:6:0x…` */
const TOKEN = /^(?<symbol>[A-Za-z0-9.]{1,16}):(?<decimals>\d{1,2}):(?<contract>0x[0-9a-fA-F]{40})$/;
const POLL_INTERVAL_MS = 3_000;
/** Blocks. */
const REORG_WINDOW = 512;
/** An hour: rollups finalise within 30 minutes. */
const FINALITY_STALE_SECONDS = 3_600;

/**
 * Adds an EVM chain if all checks of `doctor` pass at its endpoints. Otherwise the file stays as it is.
 * @throws GatewayError CLI_USAGE, NETWORKS_INVALID, NETWORKS_MIXED, DOCTOR_FAILED
 */
export async function addChain(context: CliContext, file: string, options: AddChainOptions): Promise<void> {
  const entry = entryOf(options);
  const networks = await readEntries(file);
  if (networks.some(({ chain }) => chain === entry.chain))
    throw usage(`${entry.chain} is in ${file} already. Change the entry there.`);
  const text = `${JSON.stringify({ networks: [...networks, entry] }, null, 2)}\n`;
  const parsed = parseNetworkFile(text, file);
  networkKindOf(parsed);
  const network = parsed.find(({ chain }) => chain === entry.chain);
  if (network === undefined) throw new TypeError(`${entry.chain} was not parsed`);
  const findings = [...(await examineNetwork(network, context.clock)), ...examineSources(network)];
  const sections = [{ title: `${network.chain}: ${network.name}`, findings }];
  for (const line of reportLines(sections)) context.print(line);
  if (count(sections, 'fail') > 0)
    throw cliError('DOCTOR_FAILED', `${entry.chain} was not added: correct what failed above and repeat.`);
  await replace(file, text);
  context.print(`${entry.chain} was added to ${file}.`);
  context.print(
    'Next: run opentill setup and restart the services. To pay out, add "payouts" and seal the policy.',
  );
}

async function readEntries(file: string): Promise<readonly NetworkConfig[]> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw cliError('CLI_USAGE', `${file} cannot be read.`, { cause });
  });
  parseNetworkFile(text, file);
  const read = readJson(text);
  return read.ok ? (read.value as { networks: readonly NetworkConfig[] }).networks : [];
}

/** Readers see the old file or the new one. */
async function replace(file: string, text: string): Promise<void> {
  const { mode } = await stat(file);
  await writeFile(`${file}.new`, text, { mode });
  await rename(`${file}.new`, file);
}

function entryOf(options: AddChainOptions): NetworkConfig {
  const { chain, rpcUrl, dataFee, explorer } = options;
  if (!isChain(chain))
    throw usage(`--chain ${chain} must be a capital letter, then 1 to 31 capital letters, digits and _.`);
  const preset = presetOf(chain);
  if (preset !== undefined && preset.family !== 'EVM')
    throw usage(`${chain} is a chain of the family ${preset.family}. Copy its entry from deploy/networks.`);
  const chainId = preset?.chainId ?? integer('--chain-id', options.chainId);
  refuseOtherName(chain, chainId);
  const { kind } = options;
  if (preset === undefined && kind !== 'main' && kind !== 'test')
    throw usage('--kind must be main (real money) or test.');
  if (dataFee !== undefined && dataFee !== 'op-stack') throw usage('--data-fee can only be op-stack.');
  const blockTimeMs = integer('--block-time-ms', options.blockTimeMs);
  return {
    chain,
    family: 'EVM',
    enabled: true,
    chainId,
    ...(preset === undefined && { kind: kind === 'main' ? 'main' : 'test' }),
    name: options.name ?? chain,
    rpcUrls: rpcUrl,
    nativeSymbol: options.native,
    nativeDecimals: integer('--native-decimals', options.nativeDecimals),
    ...depthOf(options.confirmations, blockTimeMs),
    blockTimeMs,
    pollIntervalMs: POLL_INTERVAL_MS,
    maxBlockRange: 100,
    bloom: options.bloom,
    ...(dataFee !== undefined && { dataFee }),
    ...(explorer !== undefined && { explorerTxUrl: explorer }),
    tokens: options.token.map(tokenOf),
  };
}

function depthOf(
  typed: string,
  blockTimeMs: number,
): Pick<NetworkConfig, 'confirmations' | 'finality' | 'reorgWindow'> {
  const reorgWindow = REORG_WINDOW;
  const [confirmations, staleSeconds] = ['finalized', FINALITY_STALE_SECONDS] as const;
  if (typed === 'finalized') return { confirmations, finality: { staleSeconds }, reorgWindow };
  if (typed !== 'safe') return { confirmations: integer('--confirmations', typed), reorgWindow };
  if (blockTimeMs === 0) throw usage('--block-time-ms must not be 0.');
  return {
    confirmations,
    finality: { tag: 'safe', staleSeconds },
    reorgWindow: Math.max(REORG_WINDOW, safeReorgWindow(blockTimeMs)),
  };
}

/** Clients know the presets by their names. */
function refuseOtherName(chain: string, chainId: number): void {
  const [known] = presetOfChainId(chainId) ?? [];
  if (known !== undefined && known !== chain)
    throw usage(`${chainId} is the chain id of ${known}. Use this name.`);
}

function tokenOf(text: string): TokenConfig {
  const { symbol, decimals, contract } = TOKEN.exec(text)?.groups ?? {};
  if (symbol === undefined || decimals === undefined || contract === undefined)
    throw usage(`--token ${text} must be symbol, decimals and contract: USDC:6:0x….`);
  const limits = { displayDecimals: 2, minAmount: '1', maxAmount: null, dustBelow: '0.01' };
  return { symbol, contract, decimals: Number(decimals), ...limits };
}

function integer(name: string, text: string | undefined): number {
  if (text === undefined || !/^\d{1,15}$/.test(text)) throw usage(`${name} must be a number.`);
  return Number(text);
}
