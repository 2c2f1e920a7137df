"""Message by message the fields that tfmemlens reads: numbers, names and types as in TensorFlow 2.21's
`.proto` files.

Sources:
core/framework/{step_stats,tensor_description,allocation_description,cost_graph,graph,node_def,attr_value,tensor_shape,tensor,function,
op_def,versions,summary,graph_debug_info}.proto,
core/protobuf/{bfc_memory_map,config,meta_graph,saved_model,saved_object_graph}.proto, core/util/event.proto,
tsl/profiler/protobuf/xplane.proto, core/profiler/tfprof_log.proto; Keras' saved_metadata.proto (`SavedObject`
there, here `SavedMetadataObject`); XLA's hlo.proto and xla_data.proto, of jaxlib 0.10. The numbers have not changed since TensorFlow 1.4.
"""

FIELDS = """
MemoryDump: 1 allocator_name string; 2 bin_summary BinSummary*; 3 chunk MemChunk*; 4 snap_shot SnapShot*; 5 stats MemAllocatorStats
BinSummary: 1 bin int32; 2 total_bytes_in_use int64; 3 total_bytes_in_bin int64; 4 total_chunks_in_use int64; 5 total_chunks_in_bin int64
MemChunk: 1 address uint64; 2 size int64; 3 requested_size int64; 4 bin int32; 5 op_name string; 6 freed_at_count uint64; 7 action_count uint64; 8 in_use bool; 9 step_id uint64
SnapShot: 1 action_count uint64; 2 size int64
MemAllocatorStats: 1 num_allocs int64; 2 bytes_in_use int64; 3 peak_bytes_in_use int64; 4 largest_alloc_size int64; 5 fragmentation_metric float
RunMetadata: 1 step_stats StepStats; 2 cost_graph CostGraphDef; 3 partition_graphs GraphDef*; 4 function_graphs RunMetadata.FunctionGraphs*
RunMetadata.FunctionGraphs: 1 partition_graphs GraphDef*; 2 pre_optimization_graph GraphDef; 3 post_optimization_graph GraphDef
StepStats: 1 dev_stats DeviceStepStats*
DeviceStepStats: 1 device string; 2 node_stats NodeExecStats*; 3 thread_names map<uint32,string>
NodeExecStats: 1 node_name string; 2 all_start_micros int64; 3 op_start_rel_micros int64; 4 op_end_rel_micros int64; 5 all_end_rel_micros int64; 6 memory AllocatorMemoryUsed*; 7 output NodeOutput*; 8 timeline_label string; 9 scheduled_micros int64; 10 thread_id uint32; 11 referenced_tensor AllocationDescription*; 12 memory_stats MemoryStats; 13 all_start_nanos int64; 14 op_start_rel_nanos int64; 15 op_end_rel_nanos int64; 16 all_end_rel_nanos int64; 17 scheduled_nanos int64
AllocatorMemoryUsed: 1 allocator_name string; 2 total_bytes int64; 3 peak_bytes int64; 4 live_bytes int64; 5 allocator_bytes_in_use int64; 6 allocation_records AllocationRecord*
AllocationRecord: 1 alloc_micros int64; 2 alloc_bytes int64
MemoryStats: 1 temp_memory_size int64; 2 device_temp_memory_size int64; 3 persistent_memory_size int64; 4 device_persistent_memory_size int64; 5 persistent_tensor_alloc_ids int64*; 6 device_persistent_tensor_alloc_ids int64*
NodeOutput: 1 slot int32; 3 tensor_description TensorDescription
TensorDescription: 1 dtype int32; 2 shape TensorShapeProto; 4 allocation_description AllocationDescription
AllocationDescription: 1 requested_bytes int64; 2 allocated_bytes int64; 3 allocator_name string; 4 allocation_id int64; 5 has_single_reference bool; 6 ptr uint64
CostGraphDef: 1 node CostGraphDef.Node*
CostGraphDef.Node: 1 name string; 2 device string; 3 id int32; 4 input_info CostGraphDef.Node.InputInfo*; 5 output_info CostGraphDef.Node.OutputInfo*; 6 temporary_memory_size int64; 7 is_final bool; 8 control_input int32*; 12 persistent_memory_size int64
CostGraphDef.Node.InputInfo: 1 preceding_node int32; 2 preceding_port int32
CostGraphDef.Node.OutputInfo: 1 size int64; 2 alias_input_port int64; 3 shape TensorShapeProto; 4 dtype int32
GraphDef: 1 node NodeDef*; 2 library FunctionDefLibrary; 3 version int32; 4 versions VersionDef; 5 debug_info GraphDebugInfo
NodeDef: 1 name string; 2 op string; 3 input string*; 4 device string; 5 attr map<string,AttrValue>; 6 experimental_debug_info NodeDef.ExperimentalDebugInfo
NodeDef.ExperimentalDebugInfo: 1 original_node_names string*; 2 original_func_names string*
AttrValue: 1 list AttrValue.ListValue; 2 s bytes; 3 i int64; 4 f float; 5 b bool; 6 type int32; 7 shape TensorShapeProto; 8 tensor TensorProto; 9 placeholder string; 10 func NameAttrList
AttrValue.ListValue: 2 s bytes*; 3 i int64*; 4 f float*; 5 b bool*; 6 type int32*; 7 shape TensorShapeProto*; 8 tensor TensorProto*; 9 func NameAttrList*
NameAttrList: 1 name string; 2 attr map<string,AttrValue>
TensorShapeProto: 2 dim TensorShapeProto.Dim*; 3 unknown_rank bool
TensorShapeProto.Dim: 1 size int64; 2 name string
TensorProto: 1 dtype int32; 2 tensor_shape TensorShapeProto; 3 version_number int32; 4 tensor_content bytes; 5 float_val float*; 6 double_val double*; 7 int_val int32*; 8 string_val bytes*; 10 int64_val int64*; 11 bool_val bool*; 13 half_val int32*
FunctionDefLibrary: 1 function FunctionDef*; 2 gradient GradientDef*
FunctionDef: 1 signature OpDef; 3 node_def NodeDef*; 4 ret map<string,string>; 5 attr map<string,AttrValue>; 6 control_ret map<string,string>
GradientDef: 1 function_name string; 2 gradient_func string
OpDef: 1 name string; 2 input_arg OpDef.ArgDef*; 3 output_arg OpDef.ArgDef*
OpDef.ArgDef: 1 name string; 3 type int32; 4 type_attr string; 5 number_attr string; 6 type_list_attr string
VersionDef: 1 producer int32; 2 min_consumer int32; 3 bad_consumers int32*
GraphDebugInfo: 1 files string*; 2 traces map<string,GraphDebugInfo.StackTrace>; 4 frames_by_id map<fixed64,GraphDebugInfo.FileLineCol>; 5 name_to_trace_id map<string,fixed64>; 6 traces_by_id map<fixed64,GraphDebugInfo.StackTrace>
GraphDebugInfo.FileLineCol: 1 file_index int32; 2 line int32; 3 col int32; 4 func string; 5 code string
GraphDebugInfo.StackTrace: 1 file_line_cols GraphDebugInfo.FileLineCol*; 2 frame_id fixed64*
MetaGraphDef: 1 meta_info_def MetaGraphDef.MetaInfoDef; 2 graph_def GraphDef; 5 signature_def map<string,SignatureDef>; 7 object_graph_def SavedObjectGraph
MetaGraphDef.MetaInfoDef: 1 meta_graph_version string; 4 tags string*; 5 tensorflow_version string; 6 tensorflow_git_version string
SignatureDef: 1 inputs map<string,TensorInfo>; 2 outputs map<string,TensorInfo>; 3 method_name string
TensorInfo: 1 name string; 2 dtype int32; 3 tensor_shape TensorShapeProto
SavedModel: 1 saved_model_schema_version int64; 2 meta_graphs MetaGraphDef*
SavedObjectGraph: 1 nodes SavedObject*
SavedObject: 4 user_object SavedUserObject; 7 variable SavedVariable
SavedUserObject: 1 identifier string; 3 metadata string
SavedVariable: 1 dtype int32; 2 shape TensorShapeProto; 3 trainable bool; 6 name string
SavedMetadata: 1 nodes SavedMetadataObject*
SavedMetadataObject: 2 node_id int32; 3 node_path string; 4 identifier string; 5 metadata string
Event: 1 wall_time double; 2 step int64; 3 file_version string; 4 graph_def bytes; 5 summary Summary; 8 tagged_run_metadata TaggedRunMetadata; 9 meta_graph_def bytes
TaggedRunMetadata: 1 tag string; 2 run_metadata bytes
Summary: 1 value Summary.Value*
Summary.Value: 1 tag string; 2 simple_value float; 7 node_name string; 8 tensor TensorProto; 9 metadata SummaryMetadata
SummaryMetadata: 1 plugin_data SummaryMetadata.PluginData; 2 display_name string
SummaryMetadata.PluginData: 1 plugin_name string; 2 content bytes
XSpace: 1 planes XPlane*; 2 errors string*; 3 warnings string*; 4 hostnames string*
XPlane: 1 id int64; 2 name string; 3 lines XLine*; 4 event_metadata map<int64,XEventMetadata>; 5 stat_metadata map<int64,XStatMetadata>; 6 stats XStat*
XLine: 1 id int64; 2 name string; 3 timestamp_ns int64; 4 events XEvent*; 9 duration_ps int64; 10 display_id int64; 11 display_name string
XEvent: 1 metadata_id int64; 2 offset_ps int64; 3 duration_ps int64; 4 stats XStat*; 5 num_occurrences int64
XStat: 1 metadata_id int64; 2 double_value double; 3 uint64_value uint64; 4 int64_value int64; 5 str_value string; 6 bytes_value bytes; 7 ref_value uint64
XEventMetadata: 1 id int64; 2 name string; 3 metadata bytes; 4 display_name string; 5 stats XStat*
XStatMetadata: 1 id int64; 2 name string; 3 description string
ProfileProto: 1 nodes map<int64,ProfileNode>; 2 has_trace bool; 3 steps int64*; 4 id_to_string map<int64,string>; 5 miss_accelerator_stream bool
ProfileNode: 1 name string; 2 inputs map<int32,int64>; 3 outputs map<int32,int64>; 5 op_types string*; 6 canonical_device string; 7 host_device string; 9 op string; 11 attrs map<string,AttrValue>; 12 execs map<int64,ExecProfile>; 13 id int64; 14 src_output_index map<int64,int32>; 15 output_shapes map<int32,Tuple>; 16 input_shapes map<int32,Tuple>
ExecProfile: 1 run_count int64; 2 all_start_micros int64; 3 latest_end_micros int64; 4 accelerator_execs map<string,ExecTime>; 5 cpu_execs map<string,ExecTime>; 6 devices string*; 7 memory_execs ExecMemory*; 11 allocations AllocationRecord*
ExecMemory: 1 memory_micros int64; 2 host_temp_bytes int64; 3 host_persistent_bytes int64; 4 accelerator_temp_bytes int64; 5 accelerator_persistent_bytes int64; 6 requested_bytes int64; 7 peak_bytes int64; 8 residual_bytes int64; 9 output_bytes int64; 10 allocator_bytes_in_use int64; 11 output_memory map<int32,Memory>
ExecTime: 1 times Tuple*
Tuple: 1 int64_values int64*
Memory: 1 bytes int64; 2 ptr uint64
HloProto: 1 hlo_module HloModuleProto; 3 buffer_assignment BufferAssignmentProto
HloModuleProto: 1 name string; 3 computations HloComputationProto*; 6 entry_computation_id int64; 7 schedule HloScheduleProto; 17 stack_frame_index StackFrameIndexProto
HloScheduleProto: 1 sequences HloScheduleProto.Entry*
HloScheduleProto.Entry: 1 key int64; 2 value HloScheduleProto.InstructionSequence
HloScheduleProto.InstructionSequence: 1 instruction_ids int64*
HloComputationProto: 1 name string; 2 instructions HloInstructionProto*; 5 id int64; 6 root_id int64
HloInstructionProto: 1 name string; 2 opcode string; 3 shape ShapeProto; 7 metadata OpMetadata; 9 parameter_number int64; 13 tuple_index int64; 14 dimensions int64*; 35 id int64; 36 operand_ids int64*; 38 called_computation_ids int64*
ShapeProto: 2 element_type int32; 3 dimensions int64*; 4 tuple_shapes ShapeProto*
OpMetadata: 1 op_type string; 2 op_name string; 3 source_file string; 4 source_line int32; 15 stack_frame_id int32
StackFrameIndexProto: 1 file_names string*; 2 function_names string*; 3 file_locations StackFrameIndexProto.FileLocation*; 4 stack_frames StackFrameIndexProto.StackFrame*
StackFrameIndexProto.FileLocation: 1 file_name_id int32; 2 function_name_id int32; 3 line int32
StackFrameIndexProto.StackFrame: 1 file_location_id int32; 2 parent_frame_id int32
BufferAssignmentProto: 1 logical_buffers LogicalBufferProto*; 3 buffer_allocations BufferAllocationProto*
LogicalBufferProto: 1 id int64; 2 size int64; 3 defined_at LogicalBufferProto.Location
LogicalBufferProto.Location: 3 shape_index int64*; 4 instruction_id int64
BufferAllocationProto: 1 index int64; 2 size int64; 3 is_thread_local bool; 5 is_entry_computation_parameter bool; 6 parameter_number int64; 7 maybe_live_out bool; 9 assigned BufferAllocationProto.Assigned*; 11 is_tuple bool; 12 is_constant bool
BufferAllocationProto.Assigned: 1 logical_buffer_id int64; 2 offset int64; 3 size int64
"""
