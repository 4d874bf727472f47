import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';

/** Open connections to merchants' endpoints, so that callbacks in a row need no handshake each. */
export interface Connections {
  /** For `agent` of a request, which also says its owner. */
  agentFor(secure: boolean): HttpAgent;
  close(): void;
}

/** Given with a request beside the agent: only requests of the same owner share a connection. */
export interface OwnedRequest {
  readonly connectionOwner: string;
}

/** A server that announces less is believed (Node's agent reads its Keep-Alive header). */
const IDLE_MS = 10_000;

/**
 * Connections are kept by owner, address, port and TLS name, so that one is used again only for the address that
 * would be connected to now. How many are in use is the callers' to bound.
 * @param idlePerEndpoint as many as attempts at one endpoint may be under way: callbacks come in bursts, and with fewer
 *   most of each burst would need a handshake
 */
export function keepConnections(idlePerEndpoint = 8): Connections {
  const options = { keepAlive: true, timeout: IDLE_MS, maxFreeSockets: idlePerEndpoint } as const;
  const agents = {
    http: keepApart(new HttpAgent(options)),
    https: keepApart(new HttpsAgent(options)),
  };
  return {
    agentFor: (secure) => (secure ? agents.https : agents.http),
    close() {
      agents.http.destroy();
      agents.https.destroy();
    },
  };
}

function keepApart<Agent extends HttpAgent>(agent: Agent): Agent {
  const nameOf = agent.getName.bind(agent);
  agent.getName = (options) => `${(options as Partial<OwnedRequest>).connectionOwner} ${nameOf(options)}`;
  return agent;
}
