import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';

export interface Connections {
  /** The request must also set `connectionOwner`. */
  agentFor(secure: boolean): HttpAgent;
  close(): void;
}

export interface OwnedRequest {
  readonly connectionOwner: string;
}

/** A shorter time announced by the server applies (Node's agent reads its Keep-Alive header). */
const IDLE_MS = 10_000;

/**
 * By owner, address, port and TLS name. So a connection is reused only for the address that a new one would use.
 * @param idlePerEndpoint with less than the concurrent attempts at one endpoint, most callbacks of a burst need a
 * handshake
 */
export function keepConnections(idlePerEndpoint = 8): Connections {
  const options = { keepAlive: true, timeout: IDLE_MS, maxFreeSockets: idlePerEndpoint } as const;
  const agents = {
    http: separateByOwner(new HttpAgent(options)),
    https: separateByOwner(new HttpsAgent(options)),
  };
  return {
    agentFor: (secure) => (secure ? agents.https : agents.http),
    close() {
      agents.http.destroy();
      agents.https.destroy();
    },
  };
}

function separateByOwner<Agent extends HttpAgent>(agent: Agent): Agent {
  const nameOf = agent.getName.bind(agent);
  agent.getName = (options) => `${(options as Partial<OwnedRequest>).connectionOwner} ${nameOf(options)}`;
  return agent;
}
