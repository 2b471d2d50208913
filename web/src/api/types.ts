/** Short names of the wire types that many components show. */
import type { components } from "./schema";

type S = components["schemas"];
export type Offer = S["Offer"];
export type RentRequest = S["RentRequest"];
export type QuoteView = S["QuoteView"];
export type Instance = S["InstanceView"];
export type Why = S["Why"];
export type Usage = S["UsageView"];
export type EventView = S["EventView"];
export type Balance = S["Balance"];
export type Bill = S["Bill"];
export type BillGroup = S["BillGroup"];
export type BillLine = S["BillLine"];
export type Node = S["NodeView"];
export type NodeDevice = S["NodeDevice"];
export type Account = S["AccountView"];
export type Finding = S["Finding"];
export type Incident = S["IncidentView"];
export type Money = { amount: string; micros: number };
export type State = S["State"];
