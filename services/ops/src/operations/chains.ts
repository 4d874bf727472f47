import { rpcEndpointsOf, type NetworkConfig } from '@opentill/contracts/network-config';
import type { OpsAnswer } from '@opentill/contracts/ops/catalog';
import { readChainStatuses, type ChainStatusRow, type StatusReporter } from '@opentill/db/chain-status';
import { listPresence } from '@opentill/db/presence';
import { scannerSchemaOf } from '@opentill/db/scanner-schema';
import type { ServiceSchema } from '@opentill/db/service-schema';
import { mergeChainReports, type ChainReports, type ShownChainStatus } from '@opentill/domain/chain-status';
import { FAMILIES, type Chain } from '@opentill/domain/chains';
import type { Handlers } from '../handlers.ts';
import { keyAfter, PAGE_SIZE, pageOf } from '../page.ts';
import { notFound, opsError } from '../ops-error.ts';
import { time, timeOrNull } from '../format.ts';
import {
  countOpenRescans,
  findRescans,
  insertRescan,
  readCursors,
  readLeases,
  readRescan,
  type LeaseRow,
  type RescanRow,
} from '../store/chains.ts';
import { deletePause, insertPause, readPauses } from '../store/pauses.ts';
import type { OpsDeps } from './ops-deps.ts';
import { showPause } from './show-pause.ts';
import { showCursor } from './show-watch.ts';

type ChainOperation =
  | 'listChains'
  | 'pauseChain'
  | 'resumeChain'
  | 'listServices'
  | 'listRescans'
  | 'getRescan'
  | 'requestRescan';

const SCANNERS = FAMILIES.map(scannerSchemaOf).filter((schema) => schema !== undefined);
const PRESENT: readonly ServiceSchema[] = [...SCANNERS, 'tracker', 'signer', 'webhook', 'ops'];
const RESCAN_BLOCKS_MAX = 10_000_000;

export function chainHandlers({ db, assets }: OpsDeps): Pick<Handlers, ChainOperation> {
  return {
    async listChains() {
      const [cursors, scanners, signers, pauses, rescans, statuses] = await Promise.all([
        readCursors(db),
        Promise.all(SCANNERS.map((schema) => readLeases(db, schema, 'chain:'))),
        readLeases(db, 'signer', 'wallet/'),
        readPauses(db, 'chain_pause'),
        countOpenRescans(db),
        readChainStatuses(db),
      ]);
      return assets.networks.map((network) => {
        const cursor = cursors.find((row) => row.chain === network.chain);
        const scanner = scanners.flat().find(({ name }) => name === `chain:${network.chain}`);
        const pause = pauses.find((row) => row.chain === network.chain);
        const signersOfChain = signers.filter(({ name }) => name.split('/')[1] === network.chain);
        return {
          ...showNetwork(network),
          status: showStatus(
            mergeChainReports({
              ...reportsOf(statuses, network.chain),
              pause: pause && { reason: pause.reason, since: pause.pausedAt },
              isScanned: scanner?.expired === false,
            }),
          ),
          cursor: cursor === undefined ? null : showCursor(cursor),
          scanner: scanner === undefined ? null : holderOf(scanner),
          signers: signersOfChain.map((row) => ({ lease: row.name, ...holderOf(row) })),
          pause: pause === undefined ? null : showPause(pause),
          openRescans: rescans.get(network.chain) ?? 0,
        };
      });
    },
    async pauseChain({ tx, operator }, { chain, reason }) {
      assets.requireNetwork(chain);
      const pause = await insertPause(tx, 'chain_pause', { chain, operator: operator.operatorId, reason });
      if (pause === undefined) throw opsError('STATE_CONFLICT', `${chain} is already paused.`);
      return { answer: { chain, pause: showPause(pause) } };
    },
    async resumeChain({ tx }, { chain }) {
      if (!(await deletePause(tx, 'chain_pause', chain)))
        throw opsError('STATE_CONFLICT', `${chain} is not paused.`);
      return { answer: { chain, pause: null } };
    },
    async listServices() {
      return Promise.all(
        PRESENT.map(async (service) => ({ service, instances: [...(await listPresence(db, service))] })),
      );
    },
    async listRescans({ limit = PAGE_SIZE, cursor, chain }) {
      const rows = await findRescans(db, chain, keyAfter(cursor, 'number'), limit + 1);
      return pageOf(rows, limit, (row) => row.requestId, showRescan);
    },
    async getRescan({ requestId }) {
      const row = await readRescan(db, requestId);
      if (row === undefined) throw notFound(`rescan request ${requestId}`);
      return showRescan(row);
    },
    async requestRescan({ tx }, { chain, fromHeight, toHeight }) {
      assets.requireNetwork(chain);
      if (toHeight < fromHeight) throw opsError('UNPROCESSABLE', 'toHeight is below fromHeight.');
      if (toHeight - fromHeight >= RESCAN_BLOCKS_MAX) {
        throw opsError('UNPROCESSABLE', `A rescan may have at most ${RESCAN_BLOCKS_MAX} blocks.`);
      }
      const row = await insertRescan(tx, { chain, fromHeight, toHeight });
      return { answer: showRescan(row), subject: chain, details: { requestId: row.requestId } };
    },
  };
}

function showNetwork(
  network: NetworkConfig,
): Omit<
  OpsAnswer<'listChains'>[number],
  'status' | 'cursor' | 'scanner' | 'signers' | 'pause' | 'openRescans'
> {
  return {
    chain: network.chain,
    family: network.family,
    name: network.name,
    enabled: network.enabled,
    chainId: network.chainId ?? null,
    nativeSymbol: network.nativeSymbol,
    confirmations: String(network.confirmations),
    // Path, query and credentials of the URL may contain a provider's key.
    endpoints: rpcEndpointsOf(network).map(({ url }) => new URL(url).host),
    tokens: network.tokens.map(({ symbol, contract, decimals, minAmount, maxAmount }) => ({
      symbol,
      contractAddress: contract,
      decimals,
      minAmount,
      maxAmount,
    })),
  };
}

function reportsOf(
  statuses: readonly ChainStatusRow[],
  chain: Chain,
): Pick<ChainReports, 'scanner' | 'signer'> {
  const of = (service: StatusReporter) =>
    statuses.find((row) => row.chain === chain && row.service === service);
  return { scanner: of('SCANNER'), signer: of('SIGNER') };
}

function showStatus({
  state,
  reason,
  detail,
  since,
}: ShownChainStatus): OpsAnswer<'listChains'>[number]['status'] {
  return { state, reason, detail, since: timeOrNull(since) };
}

/** The name of the replica, as `listServices` has it. INSTANCE_ID contains no `#`; a lease appends one (keepLease). */
function holderOf({ holder, until, expired }: LeaseRow) {
  return { holder: holder.replace(/#.*$/, ''), until: time(until), expired };
}

function showRescan(row: RescanRow): OpsAnswer<'getRescan'> {
  return { ...row, requestedAt: time(row.requestedAt), doneAt: timeOrNull(row.doneAt) };
}
