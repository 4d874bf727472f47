import { GrpcTypes } from '@mysten/sui/grpc';
import { createCannedSuiChain, type CannedSuiPlan } from './canned-sui-chain.ts';
import { serveCanned, type CannedAnswers, type CannedDescription } from './serve-canned.ts';

/** One network of a canned SUI node; it gets a port for each source. */
export interface CannedSuiNetwork extends CannedDescription {
  readonly decimals: number;
  readonly chain: CannedSuiPlan;
  /** Checkpoints up to it are made before. */
  readonly headHeight: number;
}

const FRAME_BYTES = 5;
const TRAILER = 0x80;
const LIST_MAX = 100;

/** A frame of gRPC-web: a flag, a length, the message. */
function frame(message: Uint8Array, flag = 0): Buffer {
  const framed = Buffer.alloc(FRAME_BYTES + message.length);
  framed[0] = flag;
  framed.writeUInt32BE(message.length, 1);
  framed.set(message, FRAME_BYTES);
  return framed;
}

const OK = frame(Buffer.from('grpc-status: 0\r\n'), TRAILER);
const status = (code: number): readonly Buffer[] => [frame(Buffer.from(`grpc-status: ${code}\r\n`), TRAILER)];
const NOT_FOUND = 5;
const UNIMPLEMENTED = 12;

/** Every checkpoint with all that a reader wants of it, whatever its mask says. */
function createCannedSuiNetwork({ chain: plan, headHeight, decimals }: CannedSuiNetwork): CannedAnswers {
  const chain = createCannedSuiChain(plan);
  const checkpoints = Array.from({ length: headHeight + 1 }, (_, height) => chain.make(height));
  const gets = checkpoints.map((checkpoint) =>
    frame(GrpcTypes.GetCheckpointResponse.toBinary({ checkpoint })),
  );
  const lists = checkpoints.map((checkpoint) =>
    frame(
      GrpcTypes.ListCheckpointsResponse.toBinary({
        checkpoint,
        watermark: { cursor: new Uint8Array(16), checkpoint: checkpoint.sequenceNumber ?? 0n },
      }),
    ),
  );
  const end = frame(
    GrpcTypes.ListCheckpointsResponse.toBinary({
      watermark: { cursor: new Uint8Array(16) },
      end: { reason: GrpcTypes.QueryEndReason.CHECKPOINT_BOUND },
    }),
  );
  const info = frame(
    GrpcTypes.GetServiceInfoResponse.toBinary({
      chainId: chain.genesisId,
      epoch: checkpoints.at(-1)?.summary?.epoch ?? 0n,
      checkpointHeight: BigInt(headHeight),
      timestamp: checkpoints.at(-1)?.summary?.timestamp ?? { seconds: 0n, nanos: 0 },
      lowestAvailableCheckpoint: 0n,
    }),
  );
  const answers: Readonly<Record<string, (request: Uint8Array) => readonly Buffer[]>> = {
    GetServiceInfo: () => [info, OK],
    GetCoinInfo: (request) => {
      const { coinType } = GrpcTypes.GetCoinInfoRequest.fromBinary(request);
      const answer = { coinType: coinType ?? '', metadata: { decimals } };
      return [
        frame(GrpcTypes.GetCoinInfoResponse.toBinary(GrpcTypes.GetCoinInfoResponse.create(answer))),
        OK,
      ];
    },
    GetCheckpoint: (request) => {
      const { checkpointId } = GrpcTypes.GetCheckpointRequest.fromBinary(request);
      const wanted =
        checkpointId.oneofKind === 'sequenceNumber' ? Number(checkpointId.sequenceNumber) : headHeight;
      const found = gets[wanted];
      return found === undefined ? status(NOT_FOUND) : [found, OK];
    },
    ListCheckpoints: (request) => {
      const { startCheckpoint = 0n, endCheckpoint } = GrpcTypes.ListCheckpointsRequest.fromBinary(request);
      const from = Number(startCheckpoint);
      const to = Math.min(Number(endCheckpoint ?? BigInt(headHeight + 1)), from + LIST_MAX, headHeight + 1);
      return [...lists.slice(from, to), end, OK];
    },
  };
  return {
    contentType: 'application/grpc-web+proto',
    moveHead: () => undefined,
    head: () => headHeight,
    answer(path, body, count) {
      const method = path.slice(path.lastIndexOf('/') + 1);
      count(method);
      return answers[method]?.(Buffer.from(body, 'latin1').subarray(FRAME_BYTES)) ?? status(UNIMPLEMENTED);
    },
  };
}

serveCanned(createCannedSuiNetwork);
