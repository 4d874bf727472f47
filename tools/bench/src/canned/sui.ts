import { zstdCompressSync } from 'node:zlib';
import { GrpcTypes } from '@mysten/sui/grpc';
import { paidHex, paysDeposit, sha, timeSecondsOf, type CannedChain, type CannedPlan } from './plan.ts';

/** Large enough that few addresses recur in a run. */
const STRANGERS = 200_000;
const SUI = `0x${'2'.padStart(64, '0')}::sui::SUI`;
const SYSTEM = `0x${'0'.repeat(64)}`;
const GAS_MIST = 1_500_000n;
const EPOCH = 7n;
/** One validator with all votes. Its epoch does not end, so it never signs. */
const COMMITTEE = { epoch: EPOCH, members: [{ publicKey: new Uint8Array(96).fill(1), weight: 10_000n }] };
const FRAME_BYTES = 5;
const TRAILER = 0x80;
const COMPRESSED = 1;
const LIST_MAX = 100;
const NOT_FOUND = 5;
const UNIMPLEMENTED = 12;

/** Full nodes compress these answers, but not those of subscriptions. */
const packed = (message: Uint8Array): Buffer => frame(zstdCompressSync(message), COMPRESSED);

/** gRPC-web frame: flag, length, message. */
function frame(message: Uint8Array, flag = 0): Buffer {
  const framed = Buffer.alloc(FRAME_BYTES + message.length);
  framed[0] = flag;
  framed.writeUInt32BE(message.length, 1);
  framed.set(message, FRAME_BYTES);
  return framed;
}

const status = (code: number): Buffer => frame(Buffer.from(`grpc-status: ${code}\r\n`), TRAILER);
const OK = status(0);

function digestOf(text: string): string {
  return sha(text).slice(0, 44).replaceAll('0', 'G');
}

export function createCannedSui(plan: CannedPlan): CannedChain {
  const ours = paidHex(64).map((hex) => `0x${hex}`);
  const strangers = Array.from({ length: 1_000 }, (_, i) => `0x${sha(`${plan.seed} stranger ${i}`)}`);
  const stranger = (n: number): string => {
    const known = strangers[n % strangers.length] ?? SYSTEM;
    return `${known.slice(0, -6)}${(n % STRANGERS).toString(16).padStart(6, '0')}`;
  };
  const hashOf = (height: number): string => digestOf(`${plan.seed} ${height}`);

  function payment(height: number, place: number): GrpcTypes.ExecutedTransaction {
    const n = height * plan.transfersPerBlock + place;
    const isDeposit = paysDeposit(plan, height, place);
    const payer = stranger(n * 7 + 1);
    const paid = ours[(Math.floor(height / plan.blocksPerDeposit) + place) % ours.length] ?? SYSTEM;
    const amount = 1_000_000 + (n % 1_000_000);
    const coinType = plan.tokens[n % plan.tokens.length] ?? SUI;
    return executed(digestOf(`${plan.seed} ${height} ${place}`), payer, [
      { address: payer, coinType: SUI, amount: `-${GAS_MIST}` },
      { address: payer, coinType, amount: `-${amount}` },
      { address: isDeposit ? paid : stranger(n * 11 + 3), coinType, amount: `${amount}` },
    ]);
  }

  function checkpointAt(height: number): GrpcTypes.Checkpoint {
    const count = height === 0 ? 0 : plan.transfersPerBlock;
    const prologue = executed(digestOf(`${plan.seed} prologue ${height}`), SYSTEM, []);
    const ms = plan.startMs + height * plan.blockTimeMs;
    return GrpcTypes.Checkpoint.create({
      sequenceNumber: BigInt(height),
      digest: hashOf(height),
      summary: {
        epoch: EPOCH,
        timestamp: { seconds: BigInt(Math.floor(ms / 1_000)), nanos: (ms % 1_000) * 1_000_000 },
        ...(height === 0 ? {} : { previousDigest: hashOf(height - 1) }),
        totalNetworkTransactions: BigInt(1 + height * (plan.transfersPerBlock + 1)),
      },
      transactions: [prologue, ...Array.from({ length: count }, (_, place) => payment(height, place))],
    });
  }

  /** Full answers to the calls about a checkpoint; the field mask is ignored. */
  const gets: (Buffer | undefined)[] = [];
  const lists: (Buffer | undefined)[] = [];
  const notices: (Buffer | undefined)[] = [];
  const endOfList = frame(
    GrpcTypes.ListCheckpointsResponse.toBinary({
      watermark: { cursor: new Uint8Array(16) },
      end: { reason: GrpcTypes.QueryEndReason.CHECKPOINT_BOUND },
    }),
  );

  function serviceInfo(latest: number): Uint8Array {
    const { summary } = checkpointAt(latest);
    return GrpcTypes.GetServiceInfoResponse.toBinary({
      chainId: hashOf(0),
      epoch: EPOCH,
      checkpointHeight: BigInt(latest),
      ...(summary?.timestamp === undefined ? {} : { timestamp: summary.timestamp }),
      lowestAvailableCheckpoint: 0n,
    });
  }

  return {
    genesisId: hashOf(0),
    contentType: 'application/grpc-web+proto',
    headersOf: (path) => (path.includes('.SubscriptionService/') ? {} : { 'grpc-encoding': 'zstd' }),
    facts: (height) => ({
      height,
      hash: hashOf(height),
      parentHash: height === 0 ? '1'.repeat(32) : hashOf(height - 1),
      timeSeconds: timeSecondsOf(plan, height),
    }),
    make(height) {
      const checkpoint = checkpointAt(height);
      const watermark = { cursor: new Uint8Array(16), checkpoint: BigInt(height) };
      gets[height] = packed(GrpcTypes.GetCheckpointResponse.toBinary({ checkpoint }));
      lists[height] = packed(GrpcTypes.ListCheckpointsResponse.toBinary({ checkpoint, watermark }));
      const notice = { cursor: BigInt(height), checkpoint };
      notices[height] = frame(GrpcTypes.SubscribeCheckpointsResponse.toBinary(notice));
    },
    forget(height) {
      gets[height] = undefined;
      lists[height] = undefined;
      notices[height] = undefined;
    },
    notice: (path, height) => (path.endsWith('/SubscribeCheckpoints') ? notices[height] : undefined),
    answer(path, body, { latest }, count) {
      const method = path.slice(path.lastIndexOf('/') + 1);
      const request = Buffer.from(body, 'latin1').subarray(FRAME_BYTES);
      count(method);
      switch (method) {
        case 'GetServiceInfo':
          return [frame(serviceInfo(latest)), OK];
        case 'GetCoinInfo': {
          const { coinType = '' } = GrpcTypes.GetCoinInfoRequest.fromBinary(request);
          const { decimals } = plan;
          const info = GrpcTypes.GetCoinInfoResponse.create({ coinType, metadata: { decimals } });
          return [frame(GrpcTypes.GetCoinInfoResponse.toBinary(info)), OK];
        }
        case 'GetEpoch':
          return [
            frame(GrpcTypes.GetEpochResponse.toBinary({ epoch: { epoch: EPOCH, committee: COMMITTEE } })),
            OK,
          ];
        case 'GetCheckpoint': {
          const { checkpointId: id } = GrpcTypes.GetCheckpointRequest.fromBinary(request);
          const found = gets[id.oneofKind === 'sequenceNumber' ? Number(id.sequenceNumber) : latest];
          return found === undefined ? [status(NOT_FOUND)] : [found, OK];
        }
        case 'ListCheckpoints': {
          const { startCheckpoint = 0n, endCheckpoint } =
            GrpcTypes.ListCheckpointsRequest.fromBinary(request);
          const from = Number(startCheckpoint);
          const to = Math.min(Number(endCheckpoint ?? latest + 1), from + LIST_MAX, latest + 1);
          return [...lists.slice(from, to).filter((list) => list !== undefined), endOfList, OK];
        }
        default:
          return [status(UNIMPLEMENTED)];
      }
    },
  };
}

function executed(
  digest: string,
  sender: string,
  balanceChanges: GrpcTypes.ExecutedTransaction['balanceChanges'],
): GrpcTypes.ExecutedTransaction {
  const computationCost = balanceChanges.length === 0 ? 0n : GAS_MIST;
  return GrpcTypes.ExecutedTransaction.create({
    digest,
    transaction: { sender, gasPayment: { owner: sender } },
    effects: { status: { success: true }, gasUsed: { computationCost, storageCost: 0n, storageRebate: 0n } },
    balanceChanges,
  });
}
